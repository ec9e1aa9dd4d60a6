//! How long things took, in classes, as Prometheus reads them.

use std::fmt::{Arguments, Write as _};
use std::time::Duration;

/// Upper ends of the classes of durations, in seconds as they are written and in microseconds.
const CLASSES: [(&str, u64); 12] = [
    ("0.0005", 500),
    ("0.001", 1_000),
    ("0.0025", 2_500),
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.05", 50_000),
    ("0.1", 100_000),
    ("0.25", 250_000),
    ("1", 1_000_000),
    ("5", 5_000_000),
    ("30", 30_000_000),
];

/// How often something happened, and how long it took.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Histogram {
    /// By class, those above all classes last.
    classes: [u64; CLASSES.len() + 1],
    micros: u64,
}

impl Histogram {
    /// It happened once more.
    pub(crate) fn add(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = CLASSES.iter().position(|(_, end)| micros <= *end).unwrap_or(CLASSES.len());
        self.micros = self.micros.saturating_add(micros);
        if let Some(count) = self.classes.get_mut(class) {
            *count += 1;
        }
    }

    /// How often it happened.
    pub(crate) fn count(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// The lines of a metric with this label, such as `method="ping"`; empty: without one.
    pub(crate) fn write(&self, text: &mut String, name: &str, label: &str) {
        let (first, whole) = match label {
            "" => (String::new(), String::new()),
            label => (format!("{label},"), format!("{{{label}}}")),
        };
        let mut below = 0;
        for ((end, _), count) in CLASSES.iter().zip(self.classes) {
            below += count;
            line(text, format_args!("{name}_bucket{{{first}le=\"{end}\"}} {below}"));
        }
        let all = self.count();
        line(text, format_args!("{name}_bucket{{{first}le=\"+Inf\"}} {all}"));
        line(text, format_args!("{name}_sum{whole} {}", Duration::from_micros(self.micros).as_secs_f64()));
        line(text, format_args!("{name}_count{whole} {all}"));
    }
}

/// What a metric is.
pub(crate) fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
}

/// One line.
pub(crate) fn line(text: &mut String, line: Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}
