//! `talktree serve` as a process that can be killed and started again at the same address.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

/// How long the process may take to end when it is asked to.
const END: Duration = Duration::from_secs(120);

/// A server over a root.
#[derive(Debug)]
pub struct Server {
    child: Child,
    program: PathBuf,
    arguments: Vec<String>,
    address: SocketAddr,
}

impl Server {
    /// Starts it over this root, with these options of `talktree serve`.
    pub fn start(root: &Path, options: &[&str]) -> Result<Self> {
        let program = program()?;
        let root = root.to_str().context("the root has no name in Unicode")?;
        let mut arguments = vec!["serve".to_owned(), "--root".to_owned(), root.to_owned()];
        arguments.extend(options.iter().map(ToString::to_string));
        let (child, address) = spawn(&program, &arguments, "127.0.0.1:0")?;
        Ok(Self { child, program, arguments, address })
    }

    /// Where it listens, also when it was started again.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, without a warning, and waits for its end.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end. [`wait`](Self::wait) waits for that.
    pub fn ask_to_end(&self) -> Result<()> {
        let id = self.child.id().to_string();
        ensure!(Command::new("kill").args(["-TERM", &id]).status()?.success(), "the process cannot be told to end");
        Ok(())
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let late = Instant::now() + END;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > late {
                bail!("the process does not end within {} s", END.as_secs());
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Ends it in good order: anything but the exit code 0 is an error.
    pub fn end(&mut self) -> Result<()> {
        self.ask_to_end()?;
        let status = self.wait()?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }

    /// Starts it again, with other options than before where some are given.
    pub fn restart(&mut self, options: Option<&[&str]>) -> Result<()> {
        if let Some(options) = options {
            self.arguments.truncate(3);
            self.arguments.extend(options.iter().map(ToString::to_string));
        }
        let (child, address) = spawn(&self.program, &self.arguments, &self.address.to_string())?;
        (self.child, self.address) = (child, address);
        Ok(())
    }

    /// What the process has at this moment. None: the system does not tell.
    pub fn holds(&self) -> Option<Holds> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let number = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
        };
        Some(Holds {
            memory_kib: number("VmRSS:")?,
            threads: number("Threads:")?,
            files: fs::read_dir(format!("/proc/{}/fd", self.child.id())).ok()?.count() as u64,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holds {
    /// Memory that is resident, in KiB.
    pub memory_kib: u64,
    /// Threads.
    pub threads: u64,
    /// Open files and sockets.
    pub files: u64,
}

/// The program, built beside this one.
fn program() -> Result<PathBuf> {
    let this = env::current_exe()?;
    let name = format!("talktree{}", env::consts::EXE_SUFFIX);
    // Tests lie one directory deeper.
    let beside = this.ancestors().skip(1).take(2).map(|directory| directory.join(&name));
    let mut found = beside.filter(|program| program.is_file());
    found.next().with_context(|| format!("there is no {name} beside {}: `cargo xtask build` makes it", this.display()))
}

fn spawn(program: &Path, arguments: &[String], listen: &str) -> Result<(Child, SocketAddr)> {
    let mut command = Command::new(program);
    for variable in ["TALKTREE_ROOT", "TALKTREE_LOG", "TALKTREE_LISTEN", "TALKTREE_TOKEN_FILE", "TALKTREE_CONFIG"] {
        command.env_remove(variable);
    }
    // What it complains about while sandboxes are killed is expected.
    command.args(arguments).args(["--listen", listen]).env("TALKTREE_LOG", "error").stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{} cannot be started", program.display()))?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let Some((_, address)) = line.trim().rsplit_once("//") else {
        child.kill()?;
        child.wait()?;
        bail!("it does not say where it listens: {line:?}");
    };
    Ok((child, address.parse()?))
}
