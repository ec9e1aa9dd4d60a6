//! Random operations, shaped so that things happen: few sessions, forks anywhere, deletes near the root and at the tips,
//! tool calls, pages read on after other writes, ids that are there already, messages that are none.

use proptest::prelude::*;
use proptest::sample::select;
use talktree_engine::{AutoCompact, ConfigurationChange, DeleteMode, MediaMode, Setting, Source};
use talktree_tests::model::{Media, Metadata, Part, Payload, Text};
use talktree_tests::subject::Stop;

/// The sessions that operations are about.
pub(crate) const SESSIONS: [&str; 3] = ["", "b", "ß\u{0}'\"; --"];

/// Which message, of those that are there when its turn comes.
#[derive(Debug, Clone)]
pub(crate) enum Pick {
    /// Any.
    Any(usize),
    /// One of the first three by seq.
    Early(usize),
    /// One of the last three by seq.
    Late(usize),
    /// One that nothing answers.
    Tip(usize),
    /// One that may have been there and may be not.
    Pool(u8),
    /// None that ever was.
    Unknown,
}

/// The id of a message to be written.
#[derive(Debug, Clone)]
pub(crate) enum NewId {
    /// Never used before.
    Fresh,
    /// One of a few.
    Pool(u8),
    /// One that is there.
    Present(Pick),
    /// A long one.
    Long,
}

/// A message to be written.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) id: NewId,
    pub(crate) role: &'static str,
    pub(crate) parts: Vec<Part>,
    pub(crate) metadata: Metadata,
    pub(crate) metadata_at: usize,
    pub(crate) escaped: bool,
    pub(crate) spaced: bool,
    /// Take the text of the stored message of that id, if there is one.
    pub(crate) repeat: bool,
    /// Leave its payloads blank, as in a copy that was read by reference.
    pub(crate) blank: bool,
    /// Send this instead, which is no message.
    pub(crate) invalid: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(crate) enum ParentPick {
    Latest,
    Root,
    Id(Pick),
}

#[derive(Debug, Clone)]
pub(crate) enum ExpectedPick {
    Any,
    Empty,
    /// The leaf that it is.
    Right,
    Id(Pick),
}

#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) leaf: Option<Pick>,
    pub(crate) newest_first: bool,
    pub(crate) overlays: bool,
    pub(crate) media: MediaMode,
}

#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Append {
        draft: Draft,
        parent: ParentPick,
        source: Source,
        expected: ExpectedPick,
    },
    AppendChain {
        drafts: Vec<Draft>,
        parent: ParentPick,
        source: Source,
        expected: ExpectedPick,
    },
    Update {
        draft: Draft,
        source: Source,
    },
    Upsert {
        draft: Draft,
        parent: ParentPick,
        source: Source,
    },
    Import {
        items: Vec<(Draft, Option<Pick>, i64)>,
        alone: bool,
    },
    Delete {
        picks: Vec<Pick>,
        mode: DeleteMode,
        dry_run: bool,
    },
    Clear,
    SetLeaf(Option<Pick>),
    Get(Pick, MediaMode),
    GetMedia {
        pick: Pick,
        index: u32,
        offset: u64,
        length: Option<u64>,
    },
    Stats,
    History(View),
    Read {
        view: View,
        size: Option<u32>,
        budget: Option<u64>,
    },
    Recent {
        leaf: Option<Pick>,
        budget: u64,
        overlays: bool,
        media: MediaMode,
    },
    RowStats {
        leaf: Option<Pick>,
        size: Option<u32>,
    },
    Branches {
        point: Option<Pick>,
        size: Option<u32>,
    },
    List {
        size: Option<u32>,
    },
    /// Reads on where an earlier read stopped, with another page size.
    Continue {
        which: usize,
        size: Option<u32>,
        budget: Option<u64>,
    },
    /// Reads on with something about the call changed.
    Misuse {
        which: usize,
        how: Misuse,
    },
    Configure {
        of_store: bool,
        change: Box<ConfigurationChange>,
    },
    Restart(Stop),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Misuse {
    OtherSession,
    OtherView,
    OtherLeaf,
    OtherCall,
    Damaged,
}

/// An operation on one of the sessions.
pub(crate) type Step = (usize, Operation);

pub(crate) fn steps(length: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((session(), operation()), length / 4..length)
}

fn session() -> impl Strategy<Value = usize> {
    prop_oneof![10 => Just(0_usize), 2 => Just(1), 1 => Just(2)]
}

fn operation() -> impl Strategy<Value = Operation> {
    let write = prop_oneof![
        40 => (draft(), parent(), source(), expected())
            .prop_map(|(draft, parent, source, expected)| Operation::Append { draft, parent, source, expected }),
        12 => (prop::collection::vec(draft(), 0..9), parent(), source(), expected()).prop_map(
            |(drafts, parent, source, expected)| Operation::AppendChain { drafts, parent, source, expected }),
        8 => (draft(), source()).prop_map(|(mut draft, source)| {
            if let NewId::Fresh = draft.id {
                draft.id = NewId::Present(Pick::Any(draft.parts.len() * 7 + draft.metadata_at));
            }
            Operation::Update { draft, source }
        }),
        4 => (draft(), parent(), source())
            .prop_map(|(draft, parent, source)| Operation::Upsert { draft, parent, source }),
        4 => (prop::collection::vec((draft(), prop::option::weighted(0.95, pick()), time()), 1..4),
              any::<bool>()).prop_map(|(items, alone)| Operation::Import { items, alone }),
        10 => (prop::collection::vec(pick(), 1..4), select(&[DeleteMode::Splice, DeleteMode::Splice,
              DeleteMode::Splice, DeleteMode::Subtree][..]), prop::bool::weighted(0.15))
            .prop_map(|(picks, mode, dry_run)| Operation::Delete { picks, mode, dry_run }),
        1 => prop::bool::weighted(0.3).prop_map(|clear| if clear { Operation::Clear } else { Operation::SetLeaf(None) }),
        6 => prop::option::weighted(0.8, pick()).prop_map(Operation::SetLeaf),
    ];
    let read = prop_oneof![
        2 => (pick(), mode()).prop_map(|(pick, media)| Operation::Get(pick, media)),
        2 => (pick(), 0..3_u32, prop_oneof![Just(0), 0..1000_u64, 0..500_000_u64], prop::option::of(0..400_000_u64))
            .prop_map(|(pick, index, offset, length)| Operation::GetMedia { pick, index, offset, length }),
        1 => Just(Operation::Stats),
        2 => view().prop_map(Operation::History),
        7 => (view(), size(), budget()).prop_map(|(view, size, budget)| Operation::Read { view, size, budget }),
        6 => (prop::option::weighted(0.3, pick()), 0..6000_u64, any::<bool>(), mode())
            .prop_map(|(leaf, budget, overlays, media)| Operation::Recent { leaf, budget, overlays, media }),
        3 => (prop::option::weighted(0.3, pick()), size()).prop_map(|(leaf, size)| Operation::RowStats { leaf, size }),
        3 => (prop::option::weighted(0.7, pick()), size())
            .prop_map(|(point, size)| Operation::Branches { point, size }),
        2 => size().prop_map(|size| Operation::List { size }),
        12 => (0..4_usize, size(), budget())
            .prop_map(|(which, size, budget)| Operation::Continue { which, size, budget }),
        2 => (0..4_usize, select(&[Misuse::OtherSession, Misuse::OtherView, Misuse::OtherLeaf, Misuse::OtherCall,
              Misuse::Damaged][..])).prop_map(|(which, how)| Operation::Misuse { which, how }),
    ];
    prop_oneof![
        60 => write,
        36 => read,
        2 => (any::<bool>(), change()).prop_map(|(of_store, change)|
            Operation::Configure { of_store, change: Box::new(change) }),
        2 => select(&[Stop::Closed, Stop::Dropped, Stop::Killed][..]).prop_map(Operation::Restart),
    ]
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![60 => -5..5_000_000_i64, 1 => select(&[(1 << 53) - 1, 1 << 53, i64::MAX, i64::MIN][..])]
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![
        4 => any::<usize>().prop_map(Pick::Any),
        2 => any::<usize>().prop_map(Pick::Early),
        3 => any::<usize>().prop_map(Pick::Late),
        3 => any::<usize>().prop_map(Pick::Tip),
        1 => any::<u8>().prop_map(Pick::Pool),
        1 => Just(Pick::Unknown),
    ]
}

fn parent() -> impl Strategy<Value = ParentPick> {
    prop_oneof![
        16 => Just(ParentPick::Latest),
        1 => Just(ParentPick::Root),
        8 => pick().prop_map(ParentPick::Id),
    ]
}

fn expected() -> impl Strategy<Value = ExpectedPick> {
    prop_oneof![
        40 => Just(ExpectedPick::Any),
        1 => Just(ExpectedPick::Empty),
        3 => Just(ExpectedPick::Right),
        1 => pick().prop_map(ExpectedPick::Id),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![3 => Just(Source::Server), 2 => Just(Source::Client)]
}

fn draft() -> impl Strategy<Value = Draft> {
    let id = prop_oneof![
        16 => Just(NewId::Fresh),
        3 => any::<u8>().prop_map(NewId::Pool),
        2 => pick().prop_map(NewId::Present),
        1 => Just(NewId::Long),
    ];
    let shape = (prop::collection::vec(part(), 0..4), metadata(), 0..=3_usize);
    let rarely = || prop::bool::weighted(0.1);
    let way = (rarely(), rarely(), prop::bool::weighted(0.3), rarely());
    let role = select(&["user", "assistant", "assistant", "tool"][..]);
    let invalid = prop::option::weighted(0.03, select(INVALID));
    (id, role, shape, way, invalid).prop_map(
        |(id, role, (parts, metadata, metadata_at), (escaped, spaced, repeat, blank), invalid)| Draft {
            id,
            role,
            parts,
            metadata,
            metadata_at,
            escaped,
            spaced,
            repeat,
            blank,
            invalid,
        },
    )
}

/// Texts that are no messages, each for another reason.
const INVALID: &[&str] = &[
    "",
    "null",
    "[]",
    r#"{"id":"m","role":"user","parts":[]"#,
    r#"{"id":"m","role":"user","parts":[]} x"#,
    r#"{"id":"","role":"user","parts":[]}"#,
    r#"{"id":"m","role":"","parts":[]}"#,
    r#"{"id":"m","role":"user","parts":{}}"#,
    r#"{"id":"m","role":"user"}"#,
    r#"{"id":7,"role":"user","parts":[]}"#,
    r#"{"id":"m","id":"m","role":"user","parts":[]}"#,
    r#"{"id":"m","role":"user","parts":[],"metadata":{},"metadata":{}}"#,
    r#"{"id":"\ud800","role":"user","parts":[]}"#,
    r#"{"id":"compaction_1","role":"user","parts":[]}"#,
    r#"{"id":"m","role":"user","parts":[01]}"#,
];

fn part() -> impl Strategy<Value = Part> {
    let call_id = select(&["", "c1", "c2", "c\n3\\"][..]).prop_map(str::to_owned);
    let length = prop_oneof![40 => 0..40_usize, 4 => 100..400_usize, 1 => 128_000..400_000_usize];
    prop_oneof![
        6 => (length, select(&["a", "é", "部", "😀", "\"", "\\"][..])).prop_map(|(length, letter)| {
            Part::Text(letter.repeat(length))
        }),
        4 => call_id.clone().prop_map(Part::Call),
        4 => call_id.clone().prop_map(Part::Result),
        1 => call_id.clone().prop_map(Part::Waiting),
        1 => call_id.prop_map(Part::Answered),
        2 => media().prop_map(Part::Media),
    ]
}

fn media() -> impl Strategy<Value = Media> {
    let payload = prop_oneof![12 => (0..4_u8).prop_map(Payload::Short), 1 => Just(Payload::Long)];
    (payload, any::<bool>()).prop_map(|(payload, as_url)| Media { payload, as_url })
}

fn mode() -> impl Strategy<Value = MediaMode> {
    prop_oneof![
        3 => Just(MediaMode::Inline),
        1 => Just(MediaMode::Reference),
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let key = select(&["r", "\\u0072", "s", "k", "k2"][..]).prop_map(str::to_owned);
    let value = select(&["1", "18446744073709551616", "\"\\ud83d\"", "{\"r\":[1e3]}"][..]).prop_map(str::to_owned);
    prop_oneof![
        10 => Just(Metadata::Absent),
        1 => Just(Metadata::Null),
        1 => Just(Metadata::Word),
        6 => prop::collection::vec((key, value), 0..4).prop_map(Metadata::Object),
    ]
}

fn view() -> impl Strategy<Value = View> {
    (prop::option::weighted(0.4, pick()), any::<bool>(), any::<bool>(), mode())
        .prop_map(|(leaf, newest_first, overlays, media)| View { leaf, newest_first, overlays, media })
}

fn size() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![12 => (1..=5_u32).prop_map(Some), 2 => Just(None), 1 => select(&[0, 1000, 1001][..]).prop_map(Some)]
}

fn budget() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => Just(None), 1 => (0..1500_u64).prop_map(Some)]
}

fn change() -> impl Strategy<Value = ConfigurationChange> {
    fn setting<T: Clone + std::fmt::Debug + 'static>(
        value: impl Strategy<Value = T> + 'static,
    ) -> impl Strategy<Value = Setting<T>> {
        prop_oneof![4 => Just(Setting::Keep), 1 => Just(Setting::Reset), 2 => value.prop_map(Setting::Value)]
    }
    let keys = prop::collection::vec(select(&["r", "s", "", "部"][..]).prop_map(str::to_owned), 0..3);
    let numbers = (setting(0..3_u32), setting(0..9_u32), setting(0..9_u32), setting(0..9_u32), setting(0..9_u32));
    let factor = setting(select(&[0.5, 100.0, 0.0, f64::NAN][..]));
    let mode = setting(select(&[AutoCompact::Host, AutoCompact::Inline, AutoCompact::Off][..]));
    let keys = prop_oneof![
        1 => Just(Setting::Keep),
        1 => Just(Setting::Reset),
        6 => keys.prop_map(Setting::Value),
    ];
    (numbers, factor, mode, keys).prop_map(
        |((compact_after, keep_recent_tokens, protect_head, min_tail, max_prompt_tokens), token_factor, mode, keys)| {
            ConfigurationChange {
                compact_after,
                keep_recent_tokens,
                protect_head,
                min_tail,
                max_prompt_tokens,
                token_factor,
                auto_compact: mode,
                reserved_metadata_keys: keys,
            }
        },
    )
}

impl Draft {
    /// The message, once its id is known.
    pub(crate) fn text(&self, id: String) -> Text {
        Text {
            id,
            role: self.role.to_owned(),
            parts: self.parts.clone(),
            metadata: self.metadata.clone(),
            metadata_at: self.metadata_at,
            escaped: self.escaped,
        }
    }
}
