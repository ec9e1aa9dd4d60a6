//! What the command line says.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::contender::Side;

/// Measures the engine natively and in the component, side by side in one run, with a plain SQLite table as yardstick.
///
/// All three write the same messages with the same durability, in turns, round by round. A figure is the median of the
/// rounds; a ratio is the median of the ratios within the rounds, so that what else the machine does counts for little.
#[derive(Debug, Parser)]
#[command(name = "bench")]
pub(crate) struct Arguments {
    /// Small sizes, for a look within a minute: no substitute for a full run
    #[arg(long)]
    pub(crate) quick: bool,

    /// What to measure [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ROWS")]
    pub(crate) rows: Vec<Group>,

    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with 1 if a target is missed
    #[arg(long)]
    pub(crate) strict: bool,

    /// Rounds to take the median of
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: Option<u32>,

    /// Messages in the largest store [default: 100000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1_000..=10_000_000))]
    pub(crate) large: Option<u64>,

    /// Leave contenders out; the engine is always measured
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CONTENDERS")]
    pub(crate) without: Vec<Side>,

    /// Where the stores are made: a directory on the disk to measure [default: the system's temporary directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) scratch: Option<PathBuf>,

    /// Only for the program itself: reads a store in a process of its own, and prints its peak memory in bytes
    #[arg(long, hide = true, num_args = 2, value_names = ["CONTENDER", "DIRECTORY"])]
    pub(crate) probe: Option<Vec<String>>,
}

/// Groups of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Appending one by one, at several sizes, with both durabilities
    Append,
    /// Streaming the whole history
    History,
    /// The newest 64 KiB
    Recent,
    /// Opening a store that was closed: its first answer, first page, first append
    Open,
    /// A message of 1 MiB, an image of 2 MiB, and the same image again
    Large,
    /// Appending with a threshold for compaction
    Armed,
    /// Searching, making the index, and appending while there is one
    Search,
    /// As many sessions as the largest store has messages: listing them, and the log while they are written
    Sessions,
    /// Bytes on disk per message
    Disk,
    /// Rows, pages and system calls per append
    Writes,
    /// Peak memory of a process that streams the whole history
    Memory,
}

/// Sizes and counts of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Messages before, for the growth rows: from here ...
    pub(crate) small: u64,
    /// ... through here ...
    pub(crate) medium: u64,
    /// ... to here.
    pub(crate) large: u64,
    /// Rounds.
    pub(crate) rounds: u32,
    /// Appends per round, enough for a checkpoint or two.
    pub(crate) appends: u64,
    /// Short reads per round.
    pub(crate) reads: u32,
    /// Openings per round.
    pub(crate) opens: u32,
}

impl Arguments {
    pub(crate) fn scale(&self) -> Scale {
        let mut scale = if self.quick {
            Scale { small: 500, medium: 2_000, large: 10_000, rounds: 3, appends: 250, reads: 20, opens: 5 }
        } else {
            Scale { small: 1_000, medium: 10_000, large: 100_000, rounds: 7, appends: 500, reads: 50, opens: 10 }
        };
        scale.rounds = self.rounds.unwrap_or(scale.rounds);
        scale.large = self.large.unwrap_or(scale.large);
        scale
    }

    pub(crate) fn sides(&self) -> Vec<Side> {
        Side::ALL.into_iter().filter(|side| *side == Side::Engine || !self.without.contains(side)).collect()
    }

    pub(crate) fn wants(&self, group: Group) -> bool {
        self.rows.is_empty() || self.rows.contains(&group)
    }
}
