//! The file with the hashes of tokens.

use std::path::Path;

use super::file_system::rights_of_others;
use super::{Finding, Level};
use crate::serve;

pub(super) fn examine(file: &Path) -> Finding {
    let named = file.display().to_string();
    let tell = |level, sentence: String| Finding::new("token-file", level, sentence).about(named.clone());
    if let Err(error) = serve::check_token_file(file) {
        return tell(Level::Problem, error.to_string())
            .advice("make one with `talktree token`, or take out what is wrong");
    }
    let rights = file.metadata().map_or(0, |metadata| rights_of_others(&metadata));
    if rights & 0o022 != 0 {
        let sentence = "others may write into it: they can give themselves any tenant".to_owned();
        return tell(Level::Problem, sentence).advice(format!("chmod 600 {named}"));
    }
    if rights & 0o044 != 0 {
        let sentence = "others may read it: it holds hashes only, and names".to_owned();
        return tell(Level::Note, sentence).advice(format!("chmod 600 {named}"));
    }
    tell(Level::Ok, "it can be read, by this user alone".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    #[test]
    fn a_file_that_is_missing_or_no_token_file_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.json");
        assert_eq!(examine(&path).level, Level::Problem);
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(examine(&path).level, Level::Problem);
    }

    #[cfg(unix)]
    #[test]
    fn rights_of_others_are_told() {
        use std::os::unix::fs::PermissionsExt as _;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.json");
        let token = serve::NewToken { name: "easy".to_owned(), all: true, ..Default::default() };
        serve::add_token(&path, token).unwrap();
        let with = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            examine(&path).level
        };
        assert_eq!([with(0o600), with(0o640), with(0o660)], [Level::Ok, Level::Note, Level::Problem]);
    }
}
