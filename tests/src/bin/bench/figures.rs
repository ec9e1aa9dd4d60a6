//! Figures: samples by contender and round, rows with their targets, and what came of those.

use std::collections::HashMap;

use crate::contender::Side;

/// What was measured of each contender, one figure per round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(HashMap<Side, Vec<f64>>);

impl Samples {
    pub(crate) fn add(&mut self, side: Side, figure: f64) {
        self.0.entry(side).or_default().push(figure);
    }

    /// The median of the rounds.
    pub(crate) fn median(&self, side: Side) -> Option<f64> {
        median(self.0.get(&side)?.clone())
    }

    /// The median of the ratios of two contenders within the rounds.
    fn ratio(&self, side: Side, other: Side) -> Option<f64> {
        median(quotients(self.0.get(&side)?, self.0.get(&other)?))
    }

    /// By how much each contender's figures are above those of `smaller`, round by round.
    pub(crate) fn growth_from(&self, smaller: &Samples) -> Samples {
        let grown =
            |(side, figures): (&Side, &Vec<f64>)| smaller.0.get(side).map(|from| (*side, quotients(figures, from)));
        Samples(self.0.iter().filter_map(grown).collect())
    }
}

fn quotients(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

/// The one in the middle, or between the two in the middle.
pub(crate) fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let last = figures.len().checked_sub(1)?;
    Some((figures[last / 2] + figures[last.div_ceil(2)]) / 2.0)
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    Bytes,
    MiB,
    Count,
    Times,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Microseconds => "µs",
            Unit::Milliseconds => "ms",
            Unit::Bytes => "bytes",
            Unit::MiB => "MiB",
            Unit::Count => "",
            Unit::Times => "x",
        }
    }
}

/// What the component's figure is held against. The engine natively stands in where there is no component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    /// At most so many times the engine's.
    TimesEngine(f64),
    /// At most so many times the plain table's.
    TimesPlain(f64),
    /// At most this.
    AtMost(f64),
}

/// One row of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) samples: Samples,
    pub(crate) targets: Vec<Target>,
    /// What else there is to say.
    pub(crate) note: String,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, unit: Unit, samples: Samples) -> Self {
        Self { name: name.into(), unit, samples, targets: Vec::new(), note: String::new() }
    }

    pub(crate) fn target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// The component's figures as multiples of another's.
    pub(crate) fn ratio_to(&self, other: Side) -> Option<f64> {
        self.samples.ratio(Side::Component, other)
    }

    /// What the target is about, and whether it is met; none: it could not be measured.
    pub(crate) fn judge(&self, target: Target) -> Option<bool> {
        let (figure, limit) = match target {
            Target::TimesEngine(limit) => (self.samples.ratio(Side::Component, Side::Engine)?, limit),
            Target::TimesPlain(limit) => {
                let component = self.samples.ratio(Side::Component, Side::Plain);
                (component.or_else(|| self.samples.ratio(Side::Engine, Side::Plain))?, limit)
            }
            Target::AtMost(limit) => {
                let component = self.samples.median(Side::Component);
                (component.or_else(|| self.samples.median(Side::Engine))?, limit)
            }
        };
        Some(figure <= limit)
    }

    /// Whether a target was measured and missed.
    pub(crate) fn missed(&self) -> bool {
        self.targets.iter().any(|target| self.judge(*target) == Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(engine: &[f64], component: &[f64]) -> Samples {
        Samples(HashMap::from([(Side::Engine, engine.to_vec()), (Side::Component, component.to_vec())]))
    }

    #[test]
    fn a_ratio_is_taken_within_the_rounds() {
        // The machine was ten times slower in the last round: the medians alone would say 2.0.
        let samples = samples(&[1.0, 1.0, 10.0], &[1.2, 2.0, 12.0]);
        let row = Row::new("", Unit::Milliseconds, samples);
        assert_eq!(row.ratio_to(Side::Engine), Some(1.2));
        assert_eq!(row.judge(Target::TimesEngine(1.3)), Some(true));
        assert_eq!(row.judge(Target::TimesEngine(1.1)), Some(false));
        assert_eq!(row.judge(Target::TimesPlain(1.1)), None, "the plain table was left out");
    }

    #[test]
    fn without_a_component_the_engine_is_judged() {
        let row = Row::new("", Unit::Bytes, Samples(HashMap::from([(Side::Engine, vec![5.0])])));
        assert_eq!(row.judge(Target::AtMost(4.0)), Some(false));
        assert_eq!(row.judge(Target::TimesEngine(1.0)), None);
    }
}
