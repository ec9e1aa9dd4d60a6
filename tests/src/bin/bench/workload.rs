//! The messages that are written: the same ones at every run, for every contender.
//!
//! A conversation of user and assistant in turn, English and Chinese mixed; every fifth answer carries a tool call with
//! 2 to 6 KB of JSON. A message has about 1,400 bytes on average. Ids are random, as those of the AI SDK are: an index
//! over them is written at random places, which is what a store has to live with.

use std::fmt::Write;

const ENGLISH: [&str; 48] = [
    "deploy",
    "window",
    "rollback",
    "the",
    "service",
    "queue",
    "because",
    "latency",
    "of",
    "database",
    "migration",
    "fails",
    "when",
    "replica",
    "is",
    "behind",
    "primary",
    "we",
    "should",
    "retry",
    "with",
    "backoff",
    "and",
    "log",
    "every",
    "attempt",
    "before",
    "giving",
    "up",
    "customer",
    "reported",
    "an",
    "error",
    "in",
    "checkout",
    "after",
    "release",
    "that",
    "changed",
    "schema",
    "please",
    "review",
    "this",
    "plan",
    "then",
    "run",
    "tests",
    "again",
];

const CHINESE: [&str; 32] = [
    "部署",
    "窗口",
    "回滚",
    "服务",
    "队列",
    "因为",
    "延迟",
    "数据库",
    "迁移",
    "失败",
    "副本",
    "落后",
    "我们",
    "应该",
    "重试",
    "并且",
    "记录",
    "每次",
    "之前",
    "客户",
    "报告",
    "错误",
    "结算",
    "发布",
    "修改",
    "结构",
    "请",
    "检查",
    "这个",
    "计划",
    "然后",
    "测试",
];

const ID_CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The message of this number. Odd ones are the assistant's.
pub(crate) fn message(number: u64) -> String {
    let mut random = Random::new(number);
    let id = id(&mut random);
    let mut json = String::with_capacity(2048);
    if number.is_multiple_of(2) {
        let text = prose(&mut random, 150, 950);
        json_pieces(&mut json, &[r#"{"id":""#, &id, r#"","role":"user","parts":[{"type":"text","text":""#, &text]);
        json.push_str(r#""}]}"#);
        return json;
    }
    let text = prose(&mut random, 400, 2_000);
    json_pieces(&mut json, &[r#"{"id":""#, &id, r#"","role":"assistant","parts":["#]);
    if number % 10 == 9 {
        let call = self::id(&mut random);
        let output = records(&mut random, 2_000, 6_000);
        json_pieces(&mut json, &[r#"{"type":"tool-search","toolCallId":"call_"#, &call]);
        json.push_str(r#"","state":"output-available","input":{"query":"rollback","limit":20},"output":"#);
        json_pieces(&mut json, &[&output, "},"]);
    }
    json_pieces(&mut json, &[r#"{"type":"text","text":""#, &text, r#""}],"metadata":{"model":"model-1"}}"#]);
    json
}

/// Messages from this number on.
pub(crate) fn messages(from: u64, count: u64) -> Vec<String> {
    (from..from + count).map(message).collect()
}

fn json_pieces(json: &mut String, pieces: &[&str]) {
    json.extend(pieces.iter().copied());
}

fn id(random: &mut Random) -> String {
    (0..16).map(|_| char::from(ID_CHARACTERS[random.below(62)])).collect()
}

/// Sentences of so many bytes, about.
fn prose(random: &mut Random, least: usize, most: usize) -> String {
    let bytes = least + random.below(most - least);
    let chinese = random.below(2) == 0;
    let mut text = String::with_capacity(bytes + 16);
    let mut words = 0;
    while text.len() < bytes {
        // Each language has some of the other in it.
        let other = random.below(12) == 0;
        if chinese != other {
            text.push_str(CHINESE[random.below(CHINESE.len())]);
            words += 1;
            if words % 14 == 0 {
                text.push('。');
            }
        } else {
            text.push_str(ENGLISH[random.below(ENGLISH.len())]);
            words += 1;
            text.push_str(if words % 14 == 0 { ". " } else { " " });
        }
    }
    text
}

/// What a tool answers: an array of records of so many bytes, about.
fn records(random: &mut Random, least: usize, most: usize) -> String {
    let bytes = least + random.below(most - least);
    let mut json = String::from("[");
    while json.len() < bytes {
        let (status, word) = (random.below(500), ENGLISH[random.below(ENGLISH.len())]);
        let path = format!("/srv/{}/{}", word, ENGLISH[random.below(ENGLISH.len())]);
        let comma = if json.len() > 1 { "," } else { "" };
        // Writing into a string cannot fail.
        let _ = write!(
            json,
            r#"{comma}{{"path":"{path}","line":{},"score":0.{status:03},"ok":{},"note":"{}"}}"#,
            random.below(4_000),
            status.is_multiple_of(2),
            CHINESE[random.below(CHINESE.len())],
        );
    }
    json.push(']');
    json
}

/// SplitMix64: small, and good enough to shuffle words.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7461_6c6b_7472_6565)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn messages_are_sound_alike_at_every_run_and_of_the_size_that_is_claimed() {
        let mut ids = HashSet::new();
        let mut bytes = 0;
        for number in 0..10_000 {
            let text = message(number);
            assert_eq!(text, message(number));
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(ids.insert(value["id"].as_str().unwrap().to_owned()));
            assert_eq!(value["role"] == "assistant", number % 2 == 1);
            let tool = value["parts"][0]["output"].to_string().len();
            assert_eq!(tool > 2_000, number % 10 == 9, "{number}: {tool}");
            bytes += text.len();
        }
        assert!((1_350..=1_450).contains(&(bytes / 10_000)), "{}", bytes / 10_000);
    }
}
