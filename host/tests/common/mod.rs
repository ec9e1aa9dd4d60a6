//! What the tests of the library have in common.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{
    fmt::Debug,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use talktree::{ErrorKind, Result, Talktree};

/// The JSON text of a user's message with one text.
pub(crate) fn message(id: &str, text: &str) -> String {
    serde_json::json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}).to_string()
}

/// The kind of error that a call failed with.
pub(crate) fn kind<T: Debug>(answer: Result<T>) -> ErrorKind {
    answer.expect_err("the call should have failed").kind()
}

/// Everything below a directory, as sorted paths relative to it.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(directory).unwrap().to_string_lossy().into_owned());
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether another owner can have the tenant within some seconds.
pub(crate) async fn becomes_free(root: &Path, tenant: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        let other = Talktree::open(root).await.unwrap();
        let answer = other.tenant(tenant).unwrap().session("").get_latest_leaf().await;
        other.close().await.unwrap();
        match answer {
            Ok(_) => return true,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
