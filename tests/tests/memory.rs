//! Memory of a sandbox: 64 MiB, and twice the largest message. The limit is set to that, so that whoever goes above it
//! fails.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use futures::TryStreamExt;
use talktree::Talktree;

const MIB: usize = 1 << 20;

async fn open(root: &std::path::Path, largest: usize) -> Talktree {
    let limit = 64 * MIB + 2 * largest;
    Talktree::builder(root).memory_limit(limit).call_timeout(Duration::from_secs(300)).open().await.unwrap()
}

fn text_message(id: &str, length: usize, filling: &str) -> String {
    format!(
        r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{}"}}]}}"#,
        filling.repeat(length / filling.len())
    )
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

#[test]
fn messages_of_64_mib_stay_within_twice_their_size_and_64_mib() {
    runtime().block_on(async {
        let root = tempfile::tempdir().unwrap();
        let message = text_message("large", 64 * MIB, "数据z");
        let talktree = open(root.path(), message.len()).await;
        let session = talktree.tenant("t").unwrap().session("");
        assert!(session.append_message(message.as_str()).await.unwrap().inserted);
        // A retry reads what is stored.
        let again = session.append_message(message.as_str()).await.unwrap();
        assert!(!again.inserted && !again.conflict);
        assert!(session.get_message("large").await.unwrap().unwrap().json == message);
        let mut history = session.history();
        assert!(history.try_next().await.unwrap().unwrap().json == message);
        assert!(session.get_recent_history(1).await.unwrap().messages[0].json == message);
        let other = text_message("large", 64 * MIB, "据数y");
        assert!(session.update_message(other.as_str()).await.unwrap().is_some());
        assert!(session.get_message("large").await.unwrap().unwrap().json == other);
        // An image of 48 MiB, which is 64 MiB of base64.
        let image = format!(
            r#"{{"id":"image","role":"user","parts":[{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{}"}}]}}"#,
            "QUJD".repeat(16 * MIB - 64)
        );
        assert!(session.append_message(image.as_str()).await.unwrap().inserted);
        assert!(session.get_message("image").await.unwrap().unwrap().json == image);
        assert!(session.delete_messages(["large", "image"]).await.unwrap().deleted == 2);
        assert!(session.tenant().check().await.unwrap().sound);
        talktree.close().await.unwrap();
    });
}

#[test]
fn a_long_history_streams_within_64_mib() {
    runtime().block_on(async {
        let root = tempfile::tempdir().unwrap();
        let talktree = open(root.path(), 0).await;
        let session = talktree.tenant("t").unwrap().session("");
        let messages = 20_000;
        for batch in 0..messages / 1000 {
            let chain: Vec<String> =
                (0..1000).map(|n| text_message(&format!("m{}", batch * 1000 + n), 10_000, "lorem ipsum ")).collect();
            session.append_messages(chain).await.unwrap();
        }
        let mut read = 0;
        let mut history = session.history();
        while let Some(message) = history.try_next().await.unwrap() {
            assert_eq!(message.seq, read + 1);
            read += 1;
        }
        assert_eq!(read, messages);
        talktree.close().await.unwrap();
    });
}
