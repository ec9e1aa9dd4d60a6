//! Hosts with locks and instances without them on one directory.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use talktree::{ErrorKind, Talktree};
use talktree_tests::raw::bindings::talktree::sessions::types::Error;
use talktree_tests::raw::{Instance, Model};
use tokio::runtime::Runtime;

use crate::host;

/// An instance that takes turns by marks and waits for 50 ms.
fn instance(directory: &Path, environment: &[(&str, &str)]) -> Instance {
    let environment = [&[("TALKTREE_BUSY_TIMEOUT_MS", "50")], environment].concat();
    host().instance(directory, &environment, Model::Fails).unwrap()
}

fn message(id: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"A word"}}]}}"#)
}

/// The names in a directory that say whose turn it is.
fn marks(directory: &Path) -> Vec<PathBuf> {
    let names = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("owner.")).collect()
}

#[test]
fn while_the_program_has_a_tenant_instances_without_locks_are_told_that_it_is_busy() {
    let root = tempfile::tempdir().unwrap();
    // The other instance blocks, which it must not do inside of a runtime.
    let runtime = Runtime::new().unwrap();
    let talktree = runtime.block_on(Talktree::open(root.path())).unwrap();
    let tenant = talktree.tenant("t").unwrap();
    let append = |id| {
        runtime.block_on(tenant.session("").append_message(message(id)).into_future()).unwrap();
    };
    append("m1");
    let directory = root.path().join("t");
    assert_eq!(marks(&directory).len(), 1);

    let mut other = instance(&directory, &[]);
    let refused = other.append(&message("m2")).unwrap().unwrap_err();
    assert!(matches!(&refused, Error::Busy(why) if why.message.contains("talktree")), "{refused:?}");
    let refused = other.ids(true).unwrap().unwrap_err();
    assert!(matches!(refused, Error::Busy(_)), "{refused:?}");

    append("m3");
    runtime.block_on(tenant.close().into_future()).unwrap();
    assert!(marks(&directory).is_empty(), "nothing stays where only the program has been");
    assert!(other.append(&message("m4")).unwrap().unwrap().inserted);
    // The program opens it anew, behind the other's mark, and reads what the other has written.
    let history = runtime.block_on(tenant.session("").get_history().into_future()).unwrap();
    assert_eq!(history.into_iter().map(|message| message.id).collect::<Vec<_>>(), ["m1", "m3", "m4"]);
    append("m5");
    assert!(matches!(other.ids(true).unwrap(), Err(Error::Busy(_))));
    runtime.block_on(talktree.close()).unwrap();
    assert_eq!(other.ids(true).unwrap().unwrap(), ["m1", "m3", "m4", "m5"]);
    assert!(other.append(&message("m6")).unwrap().unwrap().inserted);
    assert_eq!(marks(&directory).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_waits_for_the_turn_of_an_instance_that_was_killed_and_no_longer() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let tenant = talktree.tenant("t").unwrap();
    tenant.session("").append_message(message("m1")).await.unwrap();
    tenant.close().await.unwrap();
    // As an instance leaves it that is killed in the middle of a call.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    std::fs::write(root.path().join("t/owner.7"), format!("talktree 1 busy {now:020} {:016x} {:020}\n", 1, 1)).unwrap();
    tenant.session("").append_message(message("m2")).await.unwrap();
    talktree.close().await.unwrap();
    assert_eq!(marks(&root.path().join("t")), [root.path().join("t/owner.8")]);
}

#[test]
fn a_host_with_a_lock_that_was_killed_leaves_a_mark_that_the_next_one_takes_over_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let locked = [("TALKTREE_LOCKING", "host")];
    let mut dead = instance(directory.path(), &locked);
    assert!(dead.append(&message("m1")).unwrap().unwrap().inserted);
    drop(dead);
    let mut without = instance(directory.path(), &[]);
    assert!(matches!(without.append(&message("m2")).unwrap(), Err(Error::Busy(_))));
    let mut next = instance(directory.path(), &locked);
    assert_eq!(next.ids(true).unwrap().unwrap(), ["m1"]);
    assert!(matches!(without.append(&message("m2")).unwrap(), Err(Error::Busy(_))));
    next.close().unwrap().unwrap();
    assert!(without.append(&message("m2")).unwrap().unwrap().inserted);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_is_told_that_a_tenant_is_busy_while_an_instance_without_locks_works_in_it() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).open().await.unwrap();
    let tenant = talktree.tenant("t").unwrap();
    tenant.session("").append_message(message("m1")).await.unwrap();
    tenant.close().await.unwrap();
    let path = root.path().join("t/owner.7");
    // An owner at work: its mark changes.
    let ended = std::sync::atomic::AtomicBool::new(false);
    let is_over = &ended;
    let outcome = std::thread::scope(|scope| {
        let file = std::fs::File::create(&path).unwrap();
        let worker = scope.spawn(move || {
            for beat in 0_u32.. {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
                // In place, as an instance does: a mark is never without its content.
                let mark = format!("talktree 1 busy {now:020} {:016x} {beat:020}\n", 1);
                file.write_all_at(mark.as_bytes(), 0).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(300));
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
            }
        });
        let outcome = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(tenant.session("").append_message(message("m2")).into_future())
        });
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        worker.join().unwrap();
        outcome
    });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Busy);
}

#[test]
fn a_store_in_a_directory_that_can_only_be_read_is_closed_without_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = instance(directory.path(), &[]);
    assert!(writer.append(&message("m1")).unwrap().unwrap().inserted);
    writer.close().unwrap().unwrap();
    drop(writer);
    for environment in [&[][..], &[("TALKTREE_LOCKING", "host")]] {
        let mut reader = host().reader(directory.path(), environment).unwrap();
        assert_eq!(reader.ids(true).unwrap().unwrap(), ["m1"]);
        assert!(matches!(reader.append(&message("m2")).unwrap(), Err(Error::ReadOnly(_))));
        reader.close().unwrap().unwrap();
    }
}
