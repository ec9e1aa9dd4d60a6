//! The table and the JSON.

use serde_json::{Value, json};

use crate::contender::Side;
use crate::figures::{Row, Target, Unit};

/// The table, for people.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = ["", "plain", "engine", "component", "", "/ engine", "/ plain", "target", ""];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(cells));
    let widths: Vec<usize> = (0..head.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default())
        .collect();
    let mut text = String::new();
    for (line, row) in lines.iter().zip(std::iter::once(None).chain(rows.iter().map(Some))) {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width - cell.chars().count());
            // Names and units to the left, figures to the right.
            let padded =
                if matches!(column, 0 | 4 | 7 | 8) { format!("{cell}{space}") } else { format!("{space}{cell}") };
            text.push_str(&padded);
            text.push_str("  ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        if let Some(note) = row.map(|row| row.note.as_str()).filter(|note| !note.is_empty()) {
            text.push_str(&format!("    ({note})\n"));
        }
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let median = |side| row.samples.median(side).map(|figure| number(figure, row.unit)).unwrap_or_default();
    let ratio = |other| match row.unit {
        Unit::Times => String::new(),
        _ => row.ratio_to(other).map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
    };
    let targets: Vec<String> = row.targets.iter().map(|target| words(*target, row.unit)).collect();
    let verdicts: Vec<&str> = row.targets.iter().map(|target| verdict(row.judge(*target))).collect();
    vec![
        row.name.clone(),
        median(Side::Plain),
        median(Side::Engine),
        median(Side::Component),
        row.unit.name().to_owned(),
        ratio(Side::Engine),
        ratio(Side::Plain),
        targets.join(", "),
        verdicts.join(", "),
    ]
}

fn verdict(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "ok",
        Some(false) => "missed",
        None => "-",
    }
}

fn words(target: Target, unit: Unit) -> String {
    match target {
        Target::TimesEngine(limit) => format!("{limit} / engine"),
        Target::TimesPlain(limit) => format!("{limit} / plain"),
        Target::AtMost(limit) => format!("{limit} {}", unit.name()).trim_end().to_owned(),
    }
}

/// Three digits that mean something.
fn number(figure: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => format!("{figure:.0}"),
        _ if figure >= 100.0 => format!("{figure:.0}"),
        _ if figure >= 10.0 => format!("{figure:.1}"),
        _ if figure >= 1.0 => format!("{figure:.2}"),
        _ => format!("{figure:.3}"),
    }
}

/// The same for programs.
pub(crate) fn document(rows: &[Row]) -> Value {
    let rows = rows.iter().map(|row| {
        json!({
            "name": row.name,
            "unit": row.unit.name(),
            "plain": row.samples.median(Side::Plain),
            "engine": row.samples.median(Side::Engine),
            "component": row.samples.median(Side::Component),
            "componentPerEngine": row.ratio_to(Side::Engine),
            "componentPerPlain": row.ratio_to(Side::Plain),
            "targets": row.targets.iter().map(|target| json!({
                "target": words(*target, row.unit),
                "met": row.judge(*target),
            })).collect::<Vec<_>>(),
            "note": row.note,
        })
    });
    json!({ "rows": rows.collect::<Vec<_>>() })
}
