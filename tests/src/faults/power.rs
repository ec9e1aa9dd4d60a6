//! Power is lost at any moment.

use std::{
    collections::HashSet,
    fmt, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use talktree::Durability;

use super::{
    Amount, Random, Reference, Store,
    image::{Disk, Image},
    record::{Event, Recorder},
    reference::scratch,
    state,
    store::TENANT,
};

/// Images that are opened at once.
const AT_ONCE: usize = 4;

/// What was tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Moments in a life.
    pub moments: usize,
    /// Disks that were opened.
    pub images: usize,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} images of {} moments", self.images, self.moments)
    }
}

/// A moment at which the power goes.
struct Moment {
    /// Steps that have to be there.
    from: usize,
    /// Steps that may be there.
    to: usize,
}

/// Lives a life with a durability, and opens what may be on the disk at its moments. What another durability promises can
/// be asked for, to see that it is not kept.
///
/// # Errors
/// Something acknowledged is missing, something is there by half, or what was opened is not sound.
pub fn run(reference: &Reference, lived: Durability, promised: Durability, amount: Amount) -> Result<Tried> {
    let (events, durability) = (record(reference, lived)?, promised);
    let mut random = Random::new(reference.seed, 2);
    let mut tried = Tried::default();
    let mut seen = HashSet::new();
    let mut disk = Disk::default();
    let (mut acknowledged, mut synced) = (0, 0);
    let mut picks = amount.picks(&mut random);
    for at in 0..=events.len() {
        let is_moment = events.get(at).is_none_or(|event| match event {
            // Between two syncs nothing becomes safe, so the moment before the next one has all that the others have.
            Event::Sync(_) | Event::SyncDirectory => true,
            // Where there are few syncs there is too much in the air for all of it to be tried.
            Event::Acknowledged(_) => lived == Durability::Normal,
            _ => false,
        });
        if is_moment && picks() {
            let from = if durability == Durability::Full { acknowledged } else { synced };
            let moment = Moment { from, to: (acknowledged + 1).min(reference.steps.len()) };
            tried.moments += 1;
            let mut images: Vec<(usize, Image)> = disk.images(&mut random).into_iter().enumerate().collect();
            images.retain(|(_, image)| {
                let mut hasher = DefaultHasher::new();
                (image, from).hash(&mut hasher);
                seen.insert(hasher.finish())
            });
            tried.images += images.len();
            examine_all(reference, durability, &moment, images).with_context(|| {
                format!(
                    "seed {} ({durability:?}), before event {at} of {}, {:?}",
                    reference.seed,
                    events.len(),
                    events.get(at).map(short),
                )
            })?;
        }
        let Some(event) = events.get(at) else { break };
        match event {
            Event::Acknowledged(done) => acknowledged = *done,
            Event::Sync(_) => synced = acknowledged,
            _ => {}
        }
        disk.apply(event);
    }
    Ok(tried)
}

fn short(event: &Event) -> String {
    format!("{event:.80?}")
}

fn record(reference: &Reference, durability: Durability) -> Result<Vec<Event>> {
    let root = scratch()?;
    let recorder = Recorder::default();
    let hooks = recorder.clone();
    let mut store = Store::open(root.path(), durability, |builder| builder.sandbox_hooks(move |_| hooks.hooks()))?;
    for (at, step) in reference.steps.iter().enumerate() {
        if let Err(failure) = store.perform(step)? {
            bail!("{step:?}: {failure}");
        }
        recorder.acknowledge(at + 1);
    }
    store.close()?;
    let events = recorder.events();
    let syncs = events.iter().filter(|event| matches!(event, Event::Sync(_))).count();
    ensure!(syncs > 3, "only {syncs} syncs were seen: nothing is tested");
    Ok(events)
}

/// Opens images, some at a time: each of them waits for the disk and for marks that are left behind.
fn examine_all(
    reference: &Reference,
    durability: Durability,
    moment: &Moment,
    images: Vec<(usize, Image)>,
) -> Result<()> {
    let left = Mutex::new(images);
    let take = || left.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let work = || -> Result<()> {
        while let Some((number, image)) = take() {
            examine(reference, durability, moment, &image).with_context(|| {
                let files: Vec<_> = image.iter().map(|(name, content)| (name, content.len())).collect();
                format!("image {number}, of the files {files:?}")
            })?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let outcomes =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(anyhow!("a worker panicked"))));
        outcomes.collect::<Vec<Result<()>>>().into_iter().collect()
    })
}

/// Opens an image twice.
fn examine(reference: &Reference, durability: Durability, moment: &Moment, image: &Image) -> Result<()> {
    let root = scratch()?;
    lay(&root.path().join(TENANT), image)?;
    let read = || -> Result<String> {
        let mut store = Store::open(root.path(), durability, |builder| builder)?;
        let state = state::read(&mut store)?;
        store.close()?;
        Ok(state)
    };
    let first = read()?;
    reference.find(&first, moment.from, moment.to)?;
    ensure!(read()? == first, "what is opened a second time is not what was opened first");
    Ok(())
}

fn lay(directory: &Path, image: &Image) -> Result<()> {
    fs::create_dir(directory)?;
    for (name, content) in image {
        fs::write(directory.join(name), content)?;
    }
    Ok(())
}
