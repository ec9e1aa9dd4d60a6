//! A disk of a given size.

use std::path::Path;
use std::process::Command;

/// A small file system in memory, taken down again at the end.
pub(crate) struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    /// None: this user may not make one here.
    pub(crate) fn new(path: &'a Path, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "talktree-test"]).arg(path).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}
