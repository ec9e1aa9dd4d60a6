//! Methods about a whole store, and about all of them.

use super::super::{
    failure::Failure,
    json::{Object, push_text},
    params::{Params, Setting, choice, factor, number, strings},
    service::Caller,
};
use crate::{
    AutoCompact, AutoCompactSetting, Configuration, ConfigurationChange, FactorSetting, KeysSetting, NumberSetting,
    Talktree, Tenant,
};

type Answer = Result<String, Failure>;

/// The words for when a compaction happens.
const AUTO_COMPACT: [(&str, AutoCompact); 3] =
    [("host", AutoCompact::Host), ("inline", AutoCompact::Inline), ("off", AutoCompact::Off)];

fn count(params: Params<'_>, name: &str) -> Result<NumberSetting, Failure> {
    Ok(match params.setting(name, number)? {
        Setting::Keep => NumberSetting::Keep,
        Setting::Reset => NumberSetting::Reset,
        Setting::Value(value) => NumberSetting::Value(value),
    })
}

fn changes(params: Params<'_>) -> Result<ConfigurationChange, Failure> {
    Ok(ConfigurationChange {
        compact_after: count(params, "compactAfter")?,
        keep_recent_tokens: count(params, "keepRecentTokens")?,
        protect_head: count(params, "protectHead")?,
        min_tail: count(params, "minTail")?,
        max_prompt_tokens: count(params, "maxPromptTokens")?,
        token_factor: match params.setting("tokenFactor", factor)? {
            Setting::Keep => FactorSetting::Keep,
            Setting::Reset => FactorSetting::Reset,
            Setting::Value(value) => FactorSetting::Value(value),
        },
        auto_compact: match params.setting("autoCompact", |name, json| choice(name, json, &AUTO_COMPACT))? {
            Setting::Keep => AutoCompactSetting::Keep,
            Setting::Reset => AutoCompactSetting::Reset,
            Setting::Value(value) => AutoCompactSetting::Value(value),
        },
        reserved_metadata_keys: match params.setting("reservedMetadataKeys", strings)? {
            Setting::Keep => KeysSetting::Keep,
            Setting::Reset => KeysSetting::Reset,
            Setting::Value(keys) => KeysSetting::Value(keys),
        },
    })
}

pub(super) async fn configure(tenant: &Tenant, params: Params<'_>) -> Answer {
    let changes = changes(params)?;
    let in_force = match params.nullable_session()? {
        None => tenant.configure(changes).await?,
        Some(session) => tenant.session(session).configure(changes).await?,
    };
    Ok(configuration(&in_force))
}

fn configuration(in_force: &Configuration) -> String {
    let word = AUTO_COMPACT.iter().find(|(_, value)| *value == in_force.auto_compact).map(|(word, _)| *word);
    Object::new()
        .maybe_number("compactAfter", in_force.compact_after)
        .number("keepRecentTokens", in_force.keep_recent_tokens)
        .number("protectHead", in_force.protect_head)
        .number("minTail", in_force.min_tail)
        .number("maxPromptTokens", in_force.max_prompt_tokens)
        .maybe_text("autoCompact", word)
        .texts("reservedMetadataKeys", &in_force.reserved_metadata_keys)
        .real("tokenFactor", in_force.token_factor)
        .finish()
}

pub(super) async fn stats(tenant: &Tenant) -> Answer {
    // One after the other, so that nothing comes between them.
    let (stats, disk) = (tenant.stats(), tenant.disk());
    let (stats, disk) = (stats.await?, disk.await?);
    let mut on_disk = Object::new();
    on_disk.number("bytes", disk.bytes).maybe_number("quota", disk.quota);
    let mut bytes = Object::new();
    bytes
        .number("file", stats.bytes.file)
        .number("messages", stats.bytes.messages)
        .number("mediaBytes", stats.bytes.media_bytes)
        .number("index", stats.bytes.index)
        .number("free", stats.bytes.free);
    Ok(Object::new()
        .number("messages", stats.messages)
        .number("sessions", stats.sessions)
        .json("bytes", &bytes.finish())
        .json("disk", &on_disk.finish())
        .list("largest", &stats.largest, |message, out| {
            let mut large = Object::new();
            large.text("sessionId", &message.session_id).text("id", &message.id).number("bytes", message.bytes);
            out.push_str(&large.finish());
        })
        .number("schemaVersion", stats.schema_version)
        .finish())
}

pub(super) async fn check(tenant: &Tenant) -> Answer {
    let report = tenant.check().await?;
    Ok(Object::new().flag("sound", report.sound).texts("problems", &report.problems).finish())
}

pub(super) async fn close(tenant: &Tenant) -> Answer {
    tenant.close().await?;
    Ok(Object::new().flag("closed", true).finish())
}

pub(super) async fn list_tenants(talktree: &Talktree, caller: &Caller, params: Params<'_>) -> Answer {
    let pages = talktree.list_tenants().among(caller.tenants());
    let page = pages.cursor(params.text("cursor")?).limit(params.number::<u32>("limit")?).await?;
    Ok(Object::new()
        .list("tenants", &page.tenants, |tenant, out| push_text(out, tenant))
        .maybe_text("cursor", page.cursor.as_deref())
        .finish())
}
