//! How near the estimate comes to the real tokenizer, and what images and files count.

use std::fmt::Write as _;

use super::message;
use crate::message::Incoming;
use crate::message::tokens::{Estimator, IMAGE_TOKENS, estimate, media_tokens};

fn of(parts: &str) -> u32 {
    Incoming::parse(&message(parts)).unwrap().derived().tokens
}

fn text_part(text: &str) -> String {
    serde_json::json!([{"type": "text", "text": text}]).to_string()
}

/// Our own texts, a few KB each.
const CORPORA: [(&str, &str); 10] = [
    ("english", include_str!("../corpora/english.txt")),
    ("code", include_str!("../corpora/code.txt")),
    ("chinese", include_str!("../corpora/chinese.txt")),
    ("japanese", include_str!("../corpora/japanese.txt")),
    ("korean", include_str!("../corpora/korean.txt")),
    ("russian", include_str!("../corpora/russian.txt")),
    ("arabic", include_str!("../corpora/arabic.txt")),
    ("thai", include_str!("../corpora/thai.txt")),
    ("german", include_str!("../corpora/german.txt")),
    ("emoji", include_str!("../corpora/emoji.txt")),
];

const TOOLS: &str = include_str!("../corpora/tools.jsonl");

/// The members of tool parts that a model is given.
const CONTENT: [&str; 5] = ["type", "toolName", "input", "output", "errorText"];

#[test]
fn the_sum_over_a_corpus_is_within_a_quarter_of_the_real_tokenizer() {
    let real = tiktoken_rs::o200k_base().unwrap();
    let count = |text: &str| real.encode_ordinary(text).len();
    let mut table = String::new();
    let mut worst: f64 = 0.0;
    let mut row = |name: &str, real: usize, estimate: u64| {
        let ratio = estimate as f64 / real as f64;
        worst = worst.max((ratio - 1.0).abs());
        writeln!(table, "{name:20} {real:6} {estimate:6} {ratio:.3}").unwrap();
    };
    for (name, text) in CORPORA {
        row(name, count(text), u64::from(estimate(text)));
        // As messages of one paragraph, escapes and what surrounds them included.
        let paragraphs: Vec<&str> = text.split("\n\n").collect();
        row(
            &format!("{name}, messages"),
            paragraphs.iter().map(|text| count(text)).sum(),
            paragraphs.iter().map(|text| u64::from(of(&text_part(text)))).sum(),
        );
    }
    let (mut real_sum, mut sum) = (0, 0);
    for line in TOOLS.lines() {
        let part: serde_json::Value = serde_json::from_str(line).unwrap();
        for (name, value) in part.as_object().unwrap() {
            if CONTENT.contains(&name.as_str()) {
                real_sum += count(value.as_str().unwrap_or(&value.to_string()));
            }
        }
        sum += u64::from(of(&format!("[{line}]")));
    }
    row("tools", real_sum, sum);
    println!("{table}");
    assert!(worst <= 0.25, "further off than a quarter:\n{table}");
}

#[test]
fn plain_words_cost_about_a_token_each() {
    let tokens = of(&text_part(&"word ".repeat(400)));
    assert!((300..=540).contains(&tokens), "{tokens}");
}

#[test]
fn an_image_counts_the_same_however_it_is_given() {
    let png = format!("iVBORw0KGgo{}", "A".repeat(40_000));
    let nothing = of("[]");
    for part in [
        format!(r#"{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{png}"}}"#),
        r#"{"type":"file","url":"https://example.com/cat","mediaType":"image"}"#.to_owned(),
        format!(r#"{{"type":"image","data":"{png}","mimeType":"image/png"}}"#),
        format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{png}"}}}}"#),
        format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{png}"}}}}"#),
        format!(r#"{{"type":"tool-shot","toolCallId":"1","output":{{"content":["data:image/png;base64,{png}"]}}}}"#),
    ] {
        let tokens = of(&format!("[{part}]")) - nothing;
        assert!((IMAGE_TOKENS..IMAGE_TOKENS + 40).contains(&tokens), "{tokens} for {}", &part[..60]);
    }
}

#[test]
fn a_file_counts_by_its_size_and_never_as_text() {
    let payload = "QUJD".repeat(20_000);
    let tokens = of(&format!(
        r#"[{{"type":"file","mediaType":"application/pdf","url":"data:application/pdf;base64,{payload}"}}]"#
    ));
    let as_text = estimate(&payload);
    assert!(tokens < as_text / 4, "{tokens} of {as_text}");
    assert!(media_tokens("application/pdf", 60_000) < media_tokens("application/pdf", 120_000));
    assert_eq!(media_tokens("image/png", 1), media_tokens("image", 10_000_000));
    assert!(media_tokens("text/plain", 4_000) == 1_000);
    assert!(media_tokens("application/zip", usize::MAX) <= 100_000);
}

#[test]
fn what_a_text_part_says_is_text() {
    let url = format!("data:image/png;base64,{}", "QUJD".repeat(2_000));
    assert!(of(&text_part(&url)) > 2 * IMAGE_TOKENS);
}

#[test]
fn what_no_model_is_given_costs_nothing() {
    let bare = of("[]");
    let signature = "x9".repeat(3_000);
    for part in [
        r#"{"type":"step-start"}"#.to_owned(),
        r#"{"type":"source-url","sourceId":"1","url":"https://example.com/a/long/way","title":"A long title"}"#
            .to_owned(),
    ] {
        assert_eq!(of(&format!("[{part}]")), bare, "{part}");
    }
    let reasoning = |signature: &str| {
        of(&format!(
            r#"[{{"type":"reasoning","text":"so be it","state":"done","providerMetadata":{{"p":{{"signature":"{signature}"}}}}}}]"#
        ))
    };
    assert_eq!(reasoning(&signature), reasoning(""));
    let text = format!(r#"{{"id":"m","role":"u","parts":[],"metadata":{{"big":"{signature}"}}}}"#);
    assert_eq!(Incoming::parse(&text).unwrap().derived().tokens, bare);
}

#[test]
fn escapes_count_as_what_they_stand_for() {
    let plain = of(r#"[{"type":"text","text":"naïve 日本 say 😀 now"}]"#);
    let escaped = of(r#"[{"type":"te\u0078t","t\u0065xt":"na\u00efve \u65e5\u672c say \ud83d\ude00 now"}]"#);
    assert_eq!(plain, escaped);
    for (name, text) in CORPORA {
        // As writers do it that keep to ASCII.
        let numbered: String = serde_json::to_string(text)
            .unwrap()
            .encode_utf16()
            .map(|unit| match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
                _ => format!("\\u{unit:04x}"),
            })
            .collect();
        let plain = f64::from(of(&text_part(text)));
        let numbered = f64::from(of(&format!(r#"[{{"type":"text","text":{numbered}}}]"#)));
        assert!((numbered / plain - 1.0).abs() < 0.02, "{name}: {plain} {numbered}");
    }
}

#[test]
fn json_costs_its_structure() {
    let tool = |input: &str| of(&format!(r#"[{{"type":"tool-x","toolCallId":"1","input":{input}}}]"#));
    assert!(tool("{}") < tool(r#"{"a":1}"#));
    assert!(tool(r#"{"a":1}"#) < tool(r#"{"a":1,"b":[true,null,{"c":"d"}]}"#));
    assert!(tool(&format!("[{}]", ["1"; 100].join(","))) >= 150);
}

#[test]
fn a_sum_that_is_too_large_stays_at_the_greatest_number() {
    let mut estimator = Estimator::new();
    estimator.add(u32::MAX);
    estimator.plain("and more");
    assert_eq!(estimator.tokens(), u32::MAX);
}
