//! The options of one command, put together from all places.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::file::{ConfigFile, nearest};
use super::options::{self, PREFIX, Shape, shape};
use super::{ConfigError, Result, place, value};

/// Variables that are no options: the component reads some in other hosts, and those who build Talktree set the others.
const OTHER_VARIABLES: [&str; 6] = [
    "TALKTREE_LOCKING",
    "TALKTREE_INLINE_COMPACTION",
    "TALKTREE_BUSY_TIMEOUT_MS",
    "TALKTREE_COMPONENT",
    "TALKTREE_COMPONENT_FILE",
    "TALKTREE_CACHE",
];

/// What surrounds the program.
pub(crate) struct Given<'a> {
    /// The command line, the program's name first.
    pub(crate) arguments: Vec<OsString>,
    /// A variable of the environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Given<'_> {
    /// A variable of the environment; an empty one says nothing.
    fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Variable(String),
    File { path: PathBuf, line: usize },
    Default,
}

/// An option of the command with its value.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) option: String,
    /// Empty where it has none.
    pub(crate) values: Vec<OsString>,
    pub(crate) origin: Origin,
}

/// A command line on which everything stands that was said elsewhere.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) arguments: Vec<OsString>,
    /// What was put there.
    pub(crate) settings: Vec<Setting>,
    /// The file that was looked for, and what it says if it is there.
    pub(crate) path: Option<PathBuf>,
    pub(crate) file: Option<ConfigFile>,
    /// Why it could not be read, for commands that work without it.
    pub(crate) file_error: Option<ConfigError>,
}

/// Commands that help with a file that is wrong, or have no use for one.
const WITHOUT_FILE: [&str; 2] = ["doctor", "completions"];

/// Puts to the command line what the environment and the file say. What is wrong with the command line itself is left
/// to its parser.
pub(crate) fn resolve(commands: &Command, given: &Given<'_>) -> Result<Resolved> {
    let mut arguments = given.arguments.clone();
    let denied = deny_flags(commands, &mut arguments);
    let untouched = |arguments| Resolved { arguments, settings: Vec::new(), path: None, file: None, file_error: None };
    let Ok(matches) = lenient(commands).try_get_matches_from(&arguments) else { return Ok(untouched(arguments)) };
    let Some((name, chosen)) = matches.subcommand() else { return Ok(untouched(arguments)) };
    let Some(command) = commands.find_subcommand(name) else { return Ok(untouched(arguments)) };

    let (path, read) = open_file(commands, chosen, given);
    let (file, file_error) = match read {
        Ok(file) => (file, None),
        Err(error) if WITHOUT_FILE.contains(&name) => (None, Some(error)),
        Err(error) => return Err(error),
    };

    let sources = Sources { given, file: file.as_ref() };
    let typed: HashSet<&str> = options::of_command(command)
        .filter(|arg| chosen.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine))
        .filter_map(options::name)
        .chain(denied.iter().map(String::as_str))
        .collect();
    let mut settings = Vec::new();
    for from_environment in [true, false] {
        // What was typed, and what the environment says when the file is asked.
        let decided: HashSet<String> = typed
            .iter()
            .map(|option| (*option).to_owned())
            .chain(settings.iter().map(|setting: &Setting| setting.option.clone()))
            .collect();
        for arg in options::of_command(command) {
            let Some(option) = options::name(arg).filter(|option| !decided.contains(*option)) else { continue };
            let found = match from_environment {
                true => sources.in_environment(name, arg)?,
                false => sources.in_file(name, arg)?,
            };
            let Some(setting) = found else { continue };
            if !excluded(command, option, &decided) || is_denied(&setting) {
                settings.push(setting);
            }
        }
    }
    if name != "completions"
        && !is_given(chosen, "log")
        && let Some(setting) = sources.of_program("log")?
    {
        settings.push(setting);
    }
    place_settings(commands, command, &mut arguments, &settings);
    Ok(Resolved { arguments, settings, path, file, file_error })
}

/// Which file is meant, and what it says. No file is no error where nobody has named one.
fn open_file(
    commands: &Command,
    chosen: &ArgMatches,
    given: &Given<'_>,
) -> (Option<PathBuf>, Result<Option<ConfigFile>>) {
    let option = chosen.get_one::<PathBuf>("config").map(|path| path.as_os_str());
    match is_unwanted(chosen, given) {
        Ok(false) => {}
        Ok(true) if option.is_some() => {}
        Ok(true) => return (None, Ok(None)),
        Err(error) => return (None, Err(error)),
    }
    let path = match place::find(option, |name| given.variable(name)) {
        Ok(Some(path)) => path,
        Ok(None) => return (None, Ok(None)),
        Err(error) => return (None, Err(error)),
    };
    let read = ConfigFile::read(&path, commands).and_then(|file| match file {
        Some(file) => file.check(commands, given.variable("HOME").as_deref()).map(|()| Some(file)),
        None if place::is_named(option, given.variable("TALKTREE_CONFIG").as_deref()) => {
            Err(ConfigError(format!("there is no configuration file {}", path.display())))
        }
        None => Ok(None),
    });
    (Some(path), read)
}

/// Whether no file is to be read.
fn is_unwanted(chosen: &ArgMatches, given: &Given<'_>) -> Result<bool> {
    let variable = options::global_variable("no-config");
    match given.variable(&variable) {
        _ if chosen.get_flag("no_config") => Ok(true),
        Some(text) => {
            value::truth(&text.to_string_lossy()).map_err(|why| ConfigError(format!("the variable {variable}: {why}")))
        }
        None => Ok(false),
    }
}

fn is_given(chosen: &ArgMatches, id: &str) -> bool {
    chosen.value_source(id) == Some(ValueSource::CommandLine)
}

/// The environment and the file.
struct Sources<'a> {
    given: &'a Given<'a>,
    file: Option<&'a ConfigFile>,
}

impl Sources<'_> {
    fn in_environment(&self, command: &str, arg: &Arg) -> Result<Option<Setting>> {
        let Some(option) = options::name(arg) else { return Ok(None) };
        let mut variables = options::variables(command, option).into_iter();
        let Some((variable, text)) = variables.find_map(|name| Some((name.clone(), self.given.variable(&name)?)))
        else {
            return Ok(None);
        };
        let refuse = |why| ConfigError(format!("the variable {variable}, for --{option} of `{command}`: {why}"));
        let values = match shape(arg) {
            Shape::Flag => vec![value::truth(&text.to_string_lossy()).map_err(refuse)?.to_string().into()],
            _ => value::split(arg, &text),
        };
        if shape(arg) != Shape::Flag {
            values.iter().try_for_each(|text| value::check(arg, text)).map_err(refuse)?;
        }
        Ok(Some(Setting { option: option.to_owned(), values, origin: Origin::Variable(variable) }))
    }

    fn in_file(&self, command: &str, arg: &Arg) -> Result<Option<Setting>> {
        let Some((file, option)) = self.file.zip(options::name(arg)) else { return Ok(None) };
        let Some(entry) = file.entry(command, option) else { return Ok(None) };
        let home = self.given.variable("HOME");
        let refuse = |why| ConfigError(format!("{}, line {}: {option}: {why}", file.path().display(), entry.line));
        let values = entry.values(arg, file.directory(), home.as_deref()).map_err(refuse)?;
        let origin = Origin::File { path: file.path().to_owned(), line: entry.line };
        Ok(Some(Setting { option: option.to_owned(), values, origin }))
    }

    /// An option of the program itself that takes one text.
    fn of_program(&self, option: &str) -> Result<Option<Setting>> {
        let variable = options::global_variable(option);
        if let Some(value) = self.given.variable(&variable) {
            let origin = Origin::Variable(variable);
            return Ok(Some(Setting { option: option.to_owned(), values: vec![value], origin }));
        }
        let Some((file, entry)) = self.file.and_then(|file| Some((file, file.program_entry(option)?))) else {
            return Ok(None);
        };
        let arg = Arg::new("text").long("text");
        let refuse = |why| ConfigError(format!("{}, line {}: {option}: {why}", file.path().display(), entry.line));
        let values = entry.values(&arg, Path::new("/"), None).map_err(refuse)?;
        let origin = Origin::File { path: file.path().to_owned(), line: entry.line };
        Ok(Some(Setting { option: option.to_owned(), values, origin }))
    }
}

/// Takes `--flag=false` off the command line, which says against the environment and the file that a flag is not set,
/// and makes `--flag` of `--flag=true`. Gives the flags that are denied.
fn deny_flags(commands: &Command, arguments: &mut Vec<OsString>) -> Vec<String> {
    let flags: HashSet<&str> = commands
        .get_subcommands()
        .flat_map(options::of_command)
        .filter(|arg| shape(arg) == Shape::Flag)
        .filter_map(options::name)
        .collect();
    let mut denied = Vec::new();
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let behind = arguments.split_off(end);
    arguments.retain_mut(|argument| {
        let Some((flag, says)) = argument
            .to_str()
            .and_then(|text| text.strip_prefix("--")?.split_once('='))
            .filter(|(flag, says)| flags.contains(flag) && matches!(*says, "true" | "false"))
        else {
            return true;
        };
        if says == "true" {
            *argument = format!("--{flag}").into();
            return true;
        }
        denied.push(flag.to_owned());
        false
    });
    arguments.extend(behind);
    denied
}

/// The same commands without the rules that only the whole command line can keep.
fn lenient(commands: &Command) -> Command {
    commands.clone().mut_subcommands(|command| command.mut_args(value::alone).arg_required_else_help(false))
}

/// Whether an option cannot stand beside one of those that count more.
fn excluded(command: &Command, option: &str, decided: &HashSet<String>) -> bool {
    let conflicts = |one: &str, other: &str| {
        let arg = options::of_command(command).find(|arg| options::name(arg) == Some(one));
        arg.is_some_and(|arg| {
            command.get_arg_conflicts_with(arg).into_iter().any(|arg| options::name(arg) == Some(other))
        })
    };
    decided.iter().any(|other| conflicts(option, other) || conflicts(other, option))
}

/// A flag that is said to be off.
fn is_denied(setting: &Setting) -> bool {
    matches!(setting.values.as_slice(), [value] if value == "false")
}

/// Types what was found.
fn place_settings(commands: &Command, command: &Command, arguments: &mut Vec<OsString>, settings: &[Setting]) {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let behind = arguments.split_off(end);
    for setting in settings {
        let arg = options::of_command(command)
            .chain(commands.get_arguments())
            .find(|arg| options::name(arg) == Some(setting.option.as_str()));
        match arg.map(shape) {
            Some(Shape::Flag) if is_denied(setting) => {}
            Some(Shape::Flag) => arguments.push(format!("--{}", setting.option).into()),
            _ => arguments.extend(setting.values.iter().map(|value| value::typed(&setting.option, value))),
        }
    }
    arguments.extend(behind);
}

/// Variables of the environment that look like ours and are none, with what may have been meant.
pub(crate) fn unknown_variables(
    commands: &Command,
    names: impl Iterator<Item = OsString>,
) -> Vec<(String, Option<String>)> {
    let mut known: HashSet<String> = OTHER_VARIABLES.into_iter().map(str::to_owned).collect();
    known.extend(["config", "no-config", "log"].map(options::global_variable));
    for command in commands.get_subcommands() {
        let all = options::of_command(command).filter_map(options::name);
        known.extend(all.flat_map(|option| options::variables(command.get_name(), option)));
    }
    let mut unknown: Vec<_> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name))
        .map(|name| {
            let near = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
            (name, near)
        })
        .collect();
    unknown.sort();
    unknown
}

/// What a setting is taken from, for people.
impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Variable(name) => write!(f, "{name}"),
            Origin::File { path, line } => write!(f, "{}, line {line}", path.display()),
            Origin::Default => write!(f, "default"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::fs;

    use clap::{ArgAction, value_parser};

    use super::*;

    /// Two commands that share an option, and one that deletes.
    fn commands() -> Command {
        let option = |name: &'static str| Arg::new(name).long(name);
        let root = || option("root").value_parser(value_parser!(PathBuf)).required(true);
        let global = |id: &'static str, name: &'static str| Arg::new(id).long(name).global(true);
        Command::new("talktree")
            .arg(global("config", "config").value_parser(value_parser!(PathBuf)))
            .arg(global("no_config", "no-config").action(ArgAction::SetTrue))
            .arg(global("log", "log"))
            .subcommand(
                Command::new("serve")
                    .arg(root())
                    .arg(option("rate").value_parser(value_parser!(u32)).default_value("1000"))
                    .arg(option("cert").requires("key"))
                    .arg(option("key").requires("cert"))
                    .arg(option("host").action(ArgAction::Append).value_delimiter(','))
                    .arg(option("open").action(ArgAction::SetTrue).conflicts_with("closed"))
                    .arg(option("closed").action(ArgAction::SetTrue)),
            )
            .subcommand(Command::new("show").arg(root()).arg(Arg::new("FILE").required(true)))
            .subcommand(Command::new("delete").arg(root()).arg(option("tenant").required(true)))
    }

    struct Place {
        _directory: tempfile::TempDir,
        path: PathBuf,
    }

    /// A configuration file.
    fn file(text: &str) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("talktree.toml");
        fs::write(&path, text).unwrap();
        Place { _directory: directory, path }
    }

    fn resolved(typed: &[&str], variables: &[(&str, &str)], file: Option<&Place>) -> Result<Resolved> {
        let variable = |name: &str| {
            let named = variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
            named.or_else(|| (name == "TALKTREE_CONFIG").then(|| file.map(|file| file.path.clone().into()))?)
        };
        let arguments = ["talktree"].iter().chain(typed).map(OsString::from).collect();
        resolve(&commands(), &Given { arguments, variable: &variable })
    }

    /// What a command gets for an option.
    fn value(option: &str, typed: &[&str], variables: &[(&str, &str)], file: Option<&Place>) -> Option<String> {
        let resolved = resolved(typed, variables, file).unwrap();
        let matches = commands().try_get_matches_from(resolved.arguments).unwrap();
        let (_, chosen) = matches.subcommand().unwrap();
        let mut raw = chosen.get_raw(option)?;
        raw.next().map(|value| value.to_string_lossy().into_owned())
    }

    #[test]
    fn an_option_counts_before_the_environment_that_before_the_file_and_that_before_the_default() {
        let file = file("rate = 4\nroot = 'd'\n[serve]\nrate = 3\n");
        let typed = ["serve", "--rate", "1"];
        let variables = [("TALKTREE_RATE", "2"), ("TALKTREE_SERVE_RATE", "22")];
        let rate = |typed: &[&str], variables: &[(&str, &str)], file| value("rate", typed, variables, file).unwrap();
        assert_eq!(rate(&typed, &variables, Some(&file)), "1");
        assert_eq!(rate(&typed[..1], &variables, Some(&file)), "22", "the command's own variable counts more");
        assert_eq!(rate(&typed[..1], &variables[..1], Some(&file)), "2");
        assert_eq!(rate(&typed[..1], &[], Some(&file)), "3", "the command's own table counts more");
        assert_eq!(rate(&["serve", "--root", "r"], &[("TALKTREE_RATE", "")], None), "1000", "empty is not said");
        let shared = super::tests::file("rate = 4\nroot = 'd'\n");
        assert_eq!(rate(&typed[..1], &[], Some(&shared)), "4");
    }

    #[test]
    fn every_value_says_where_it_is_from() {
        let file = file("\nroot = 'd'\n[serve]\n\nhost = ['a', 'b']\n");
        let resolved = resolved(&["serve"], &[("TALKTREE_RATE", "2")], Some(&file)).unwrap();
        let origins: Vec<_> = resolved.settings.iter().map(|s| (s.option.as_str(), s.origin.to_string())).collect();
        let place = |line| format!("{}, line {line}", file.path.display());
        assert_eq!(origins, [("rate", "TALKTREE_RATE".to_owned()), ("root", place(2)), ("host", place(5))]);
    }

    #[test]
    fn rules_between_options_hold_wherever_they_are_from() {
        let file = file("root = 'd'\n[serve]\ncert = 'c.pem'\n");
        let half = resolved(&["serve"], &[], Some(&file)).unwrap();
        let refused = commands().try_get_matches_from(half.arguments).unwrap_err();
        assert_eq!(refused.kind(), clap::error::ErrorKind::MissingRequiredArgument);
        let whole = resolved(&["serve"], &[("TALKTREE_SERVE_KEY", "k.pem")], Some(&file)).unwrap();
        assert!(commands().try_get_matches_from(whole.arguments).is_ok());
    }

    #[test]
    fn what_counts_more_ends_what_cannot_stand_beside_it() {
        let file = file("root = 'd'\n[serve]\nopen = true\n");
        let open = |typed: &[&str], variables: &[(&str, &str)]| {
            value("open", typed, variables, Some(&file)) == Some("true".to_owned())
        };
        assert!(open(&["serve"], &[]));
        assert!(!open(&["serve", "--closed"], &[]));
        assert!(!open(&["serve"], &[("TALKTREE_CLOSED", "yes")]));
    }

    #[test]
    fn a_flag_can_be_said_to_be_off() {
        let file = file("root = 'd'\nopen = true\n");
        let open = |typed: &[&str], variables: &[(&str, &str)]| {
            value("open", typed, variables, Some(&file)) == Some("true".to_owned())
        };
        assert!(!open(&["serve", "--open=false"], &[]));
        assert!(!open(&["serve"], &[("TALKTREE_OPEN", "no")]));
        assert!(open(&["serve", "--open=true"], &[("TALKTREE_OPEN", "no")]));
        let unclear = resolved(&["serve"], &[("TALKTREE_OPEN", "maybe")], Some(&file)).unwrap_err().to_string();
        assert!(unclear.contains("TALKTREE_OPEN") && unclear.contains("neither true nor false"), "{unclear}");
    }

    #[test]
    fn many_values_are_divided_as_the_option_divides_them() {
        let variables = [("TALKTREE_SERVE_HOST", "a.example, b.example"), ("TALKTREE_ROOT", "r")];
        let resolved = resolved(&["serve"], &variables, None).unwrap();
        let matches = commands().try_get_matches_from(resolved.arguments).unwrap();
        let hosts: Vec<_> = matches.subcommand().unwrap().1.get_many::<String>("host").unwrap().collect();
        assert_eq!(hosts, ["a.example", "b.example"]);
    }

    #[test]
    fn nothing_is_deleted_because_other_commands_are_about_it() {
        let file = file("root = 'd'\n[delete]\ntenant = 'own'\n");
        assert_eq!(value("tenant", &["delete"], &[("TALKTREE_TENANT", "t")], Some(&file)), Some("own".to_owned()));
        let shared = super::tests::file("tenant = 't'\n");
        let refused = resolved(&["delete"], &[], Some(&shared)).unwrap_err().to_string();
        assert!(refused.contains("[delete]"), "{refused}");
    }

    #[test]
    fn paths_in_the_file_are_meant_from_there() {
        let file = file("root = 'sub/data'\n");
        let root = value("root", &["show", "f"], &[], Some(&file)).unwrap();
        assert_eq!(Path::new(&root), file.path.parent().unwrap().join("sub/data"));
        let home = super::tests::file("root = '~/data'\n");
        assert_eq!(value("root", &["show", "f"], &[("HOME", "/home/easy")], Some(&home)).unwrap(), "/home/easy/data");
    }

    #[test]
    fn what_is_behind_two_dashes_is_no_option() {
        let file = file("root = 'd'\n");
        let resolved = resolved(&["show", "--", "--root=x"], &[], Some(&file)).unwrap();
        assert_eq!(resolved.arguments.last().unwrap(), "--root=x");
        assert!(commands().try_get_matches_from(resolved.arguments).is_ok());
    }

    #[test]
    fn errors_name_the_place_and_the_nearest_key() {
        for (text, line, parts) in [
            ("root = 'd'\nrooot = 4\n", 2, &["\"rooot\"", "did you mean \"root\""][..]),
            ("[serve]\nhsot = 'a'\n", 2, &["option of `serve`", "\"host\""]),
            ("[serv]\n", 1, &["command", "\"serve\""]),
            ("[serve]\nrate = 'many'\n", 2, &["rate", "\"many\""]),
            ("[serve]\nrate = 1.5\n", 2, &["whole number"]),
            ("[serve]\nrate = [1]\n", 2, &["one value"]),
            ("[serve]\nopen = 'yes'\n", 2, &["true or false"]),
            ("[serve]\nhost = 'a,b'\n", 2, &["a text of its own"]),
            ("zzzzzzzz = 1\n", 1, &["there is no option"]),
            ("root = \n", 1, &["not TOML"]),
            ("root = 'a'\nroot = 'b'\n", 2, &["not TOML", "duplicate"]),
            ("openai_api_key = 'k'\n", 1, &["OPENAI_API_KEY"]),
        ] {
            let file = file(text);
            // Whichever command is run.
            let sentence = resolved(&["show", "--root", "r", "f"], &[], Some(&file)).unwrap_err().to_string();
            assert!(sentence.contains(&format!("talktree.toml, line {line}: ")), "{text:?}: {sentence}");
            for part in parts {
                assert!(sentence.contains(part), "{text:?}: {sentence}");
            }
        }
    }

    #[test]
    fn no_error_repeats_what_a_line_holds() {
        for text in
            ["openai_api_key = 'sk-planted'\n", "key = sk-planted\n", "summarizer = 'sk-planted\n", "= 'sk-planted'"]
        {
            let sentence = resolved(&["show", "f"], &[], Some(&file(text))).unwrap_err().to_string();
            assert!(!sentence.contains("sk-planted"), "{sentence}");
        }
    }

    #[test]
    fn a_named_file_has_to_be_there_and_another_need_not() {
        let missing = Place { path: "/nowhere/talktree.toml".into(), _directory: tempfile::tempdir().unwrap() };
        assert!(resolved(&["show", "f"], &[], Some(&missing)).unwrap_err().to_string().contains("there is no"));
        assert!(resolved(&["show", "f", "--no-config"], &[], Some(&missing)).is_ok());
        assert!(resolved(&["show", "f"], &[("TALKTREE_NO_CONFIG", "1")], Some(&missing)).is_ok());
        assert!(resolved(&["show", "f"], &[("HOME", "/nowhere")], None).is_ok());
    }

    #[test]
    fn variables_that_are_none_of_ours_are_told() {
        let names = ["TALKTREE_RAET", "TALKTREE_SERVE_RATE", "TALKTREE_LOG", "PATH", "TALKTREE_QQQQQQQQQQQQQQQ"];
        let unknown = unknown_variables(&commands(), names.into_iter().map(OsString::from));
        assert_eq!(
            unknown,
            [
                ("TALKTREE_QQQQQQQQQQQQQQQ".to_owned(), None),
                ("TALKTREE_RAET".to_owned(), Some("TALKTREE_RATE".to_owned())),
            ]
        );
    }
}
