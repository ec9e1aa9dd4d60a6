//! The methods: their names, the params that each knows, and the way to the store and back.

mod compaction;
mod context;
mod copies;
mod feed;
mod import;
mod read;
mod search;
mod sessions;
mod store;
mod write;

pub(super) use feed::event;

use super::connection::{Connection, Subscription};
use super::{API_VERSION, failure::Failure, json::Object, params::Params, request::Request, service::Caller};
use crate::{Error, Session, Talktree};

/// What a method is about: it brings its own params.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The whole root.
    Root,
    /// One tenant: `tenant`.
    Tenant,
    /// One session of a tenant: `tenant` and `session`.
    Session,
}

impl Scope {
    fn params(self) -> &'static [&'static str] {
        match self {
            Scope::Root => &[],
            Scope::Tenant => &["tenant"],
            Scope::Session => &["tenant", "session"],
        }
    }
}

/// Writes the enum and the table of names, scopes and params from one list, so that none can be forgotten.
macro_rules! methods {
    ($($method:ident $name:literal $scope:ident [$($param:literal),*],)*) => {
        #[derive(Clone, Copy, PartialEq, Eq)]
        enum Method {
            $($method,)*
        }

        impl Method {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Method::$method,)*];

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Method::$method),)*
                    _ => None,
                }
            }

            fn name(self) -> &'static str {
                match self {
                    $(Method::$method => $name,)*
                }
            }

            fn scope(self) -> Scope {
                match self {
                    $(Method::$method => Scope::$scope,)*
                }
            }

            /// The params beyond those of the scope.
            fn params(self) -> &'static [&'static str] {
                match self {
                    $(Method::$method => &[$($param),*],)*
                }
            }
        }
    };
}

methods! {
    AppendMessage "appendMessage" Session ["message", "parentId", "source", "expectedLeaf"],
    AppendMessages "appendMessages" Session ["messages", "parentId", "source", "expectedLeaf"],
    UpdateMessage "updateMessage" Session ["message", "source"],
    UpsertMessage "upsertMessage" Session ["message", "parentId", "source"],
    ImportMessage "importMessage" Session ["message", "parentId", "createdAt"],
    DeleteMessages "deleteMessages" Session ["ids", "mode", "dryRun"],
    ClearMessages "clearMessages" Session [],
    SetLeaf "setLeaf" Session ["id"],
    GetMessage "getMessage" Session ["id", "media"],
    GetLatestLeaf "getLatestLeaf" Session ["media"],
    GetMedia "getMedia" Session ["id", "index", "offset", "length"],
    GetHistory "getHistory" Session ["leafId", "newestFirst", "overlays", "media"],
    ReadHistory "readHistory" Session
        ["leafId", "newestFirst", "overlays", "media", "cursor", "batchSize", "maxBatchBytes"],
    GetRecentHistory "getRecentHistory" Session ["maxBytes", "leafId", "overlays", "media"],
    GetHistoryRowStats "getHistoryRowStats" Session ["leafId", "cursor", "limit"],
    GetBranches "getBranches" Session ["id", "cursor", "limit"],
    ListMessages "listMessages" Session ["cursor", "limit"],
    Configure "configure" Session [
        "compactAfter", "keepRecentTokens", "protectHead", "minTail", "maxPromptTokens", "autoCompact",
        "reservedMetadataKeys", "tokenFactor"
    ],
    Compact "compact" Session ["leafId"],
    PrepareCompaction "prepareCompaction" Session ["leafId"],
    CommitCompaction "commitCompaction" Session ["token", "summary"],
    AddCompaction "addCompaction" Session ["summary", "firstId", "lastId"],
    GetCompactions "getCompactions" Session [],
    RemoveCompaction "removeCompaction" Session ["id"],
    Search "search" Tenant
        ["query", "session", "limit", "cursor", "role", "after", "before", "include"],
    DefineBlock "defineBlock" Session
        ["label", "description", "maxTokens", "kind", "scope", "whenChanged", "content"],
    RemoveBlock "removeBlock" Session ["label"],
    GetBlock "getBlock" Session ["label"],
    ListBlocks "listBlocks" Session [],
    WriteBlock "writeBlock" Session ["label", "content", "action", "key", "title", "version"],
    BlockHistory "blockHistory" Session ["label"],
    RestoreBlock "restoreBlock" Session ["label", "version"],
    SystemPrompt "systemPrompt" Session [],
    RefreshSystemPrompt "refreshSystemPrompt" Session [],
    Reminder "reminder" Session [],
    Tools "tools" Session [],
    CallTool "callTool" Session ["name", "arguments"],
    ListSessions "listSessions" Tenant ["cursor", "limit"],
    SessionInfo "sessionInfo" Session [],
    SetTitle "setTitle" Session ["title", "automatic"],
    DeleteSession "deleteSession" Session [],
    ForkSession "forkSession" Session ["leafId", "newSession"],
    Changes "changes" Tenant ["cursor", "limit", "waitMs", "session", "types"],
    ExportLines "exportLines" Tenant ["session", "cursor", "maxBytes"],
    Snapshot "snapshot" Tenant ["cursor", "maxBytes"],
    Vacuum "vacuum" Tenant [],
    DeleteTenant "deleteTenant" Tenant [],
    ImportData "importData" Tenant ["format", "data", "session"],
    Stats "stats" Tenant [],
    Check "check" Tenant [],
    Close "close" Tenant [],
    Subscribe "subscribe" Tenant ["cursor", "session", "types"],
    Unsubscribe "unsubscribe" Root ["subscription"],
    ListTenants "listTenants" Root ["cursor", "limit"],
    Ping "ping" Root [],
}

/// A request whose method and tenant are known, ready to be carried out in the tenant's turn.
pub(super) struct Call {
    method: Method,
    tenant: Option<String>,
    request: Request,
}

impl Call {
    /// Errors: `forbidden` where the caller may not use the tenant.
    pub(super) fn of(request: Request, caller: &Caller) -> Result<Self, Failure> {
        let method = Method::named(&request.method).ok_or_else(|| Failure::method(&request.method))?;
        let params = Params::of(&request, &[method.scope().params(), method.params()])?;
        let tenant = match method.scope() {
            Scope::Root => None,
            Scope::Tenant | Scope::Session => {
                let tenant = params.tenant(caller.tenant())?;
                caller.check(&tenant)?;
                Some(tenant)
            }
        };
        Ok(Self { method, tenant, request })
    }

    /// Its method's name.
    pub(super) fn method(&self) -> &'static str {
        self.method.name()
    }

    /// The tenant in whose turn it has to be.
    pub(super) fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// Once it has begun, what comes behind it need not wait for its end.
    pub(super) fn gives_way(&self) -> bool {
        matches!(
            self.method,
            Method::Compact
                | Method::Changes
                | Method::ExportLines
                | Method::ImportData
                | Method::Search
                | Method::Vacuum
        )
    }

    /// Carries it out: the result's JSON text, and the subscription that begins when it is on its way. Without a
    /// connection there is nothing that events could go out by. What waits for an event waits until `ending` at most.
    pub(super) async fn run(
        self,
        talktree: &Talktree,
        caller: &Caller,
        connection: Option<&Connection>,
        ending: impl Future<Output = ()> + Send,
    ) -> Result<(String, Option<Subscription>), Failure> {
        if matches!(self.method, Method::Subscribe | Method::Unsubscribe) {
            let params = Params::of(&self.request, &[self.method.scope().params(), self.method.params()])?;
            let connection = connection.ok_or_else(|| {
                Failure::request("this needs a connection that stays open: stdio, or a WebSocket".to_owned())
            })?;
            return match (self.method, &self.tenant) {
                (Method::Subscribe, Some(tenant)) => {
                    let (answer, subscription) = feed::subscribe(&talktree.tenant(tenant)?, params, connection).await?;
                    Ok((answer, Some(subscription)))
                }
                _ => Ok((feed::unsubscribe(params, connection)?, None)),
            };
        }
        Ok((self.answer(talktree, caller, ending).await?, None))
    }

    async fn answer(
        self,
        talktree: &Talktree,
        caller: &Caller,
        ending: impl Future<Output = ()> + Send,
    ) -> Result<String, Failure> {
        let params = Params::of(&self.request, &[self.method.scope().params(), self.method.params()])?;
        let Some(tenant) = &self.tenant else {
            return match self.method {
                Method::ListTenants => store::list_tenants(talktree, caller, params).await,
                _ => Ok(ping()),
            };
        };
        let mut tenant = talktree.tenant(tenant)?;
        match self.method {
            Method::ImportData => return import::import_data(&mut tenant, params).await,
            Method::Stats => return store::stats(&tenant).await,
            Method::Check => return store::check(&tenant).await,
            Method::Close => return store::close(&tenant).await,
            Method::Configure => return store::configure(&tenant, params).await,
            Method::Search => return search::search(&tenant, params).await,
            Method::ListSessions => return sessions::list(&tenant, params).await,
            Method::Changes => return feed::changes(&tenant, params, ending).await,
            Method::ExportLines => return copies::export_lines(&tenant, params).await,
            Method::Snapshot => return copies::snapshot(&tenant, params).await,
            Method::Vacuum => return copies::vacuum(&tenant).await,
            Method::DeleteTenant => return copies::delete_tenant(&tenant).await,
            _ => {}
        }
        self.run_in(&tenant.session(params.session()?), params).await
    }

    async fn run_in(&self, session: &Session, params: Params<'_>) -> Result<String, Failure> {
        match self.method {
            Method::AppendMessage => write::append_message(session, params).await,
            Method::AppendMessages => write::append_messages(session, params).await,
            Method::UpdateMessage => write::update_message(session, params).await,
            Method::UpsertMessage => write::upsert_message(session, params).await,
            Method::ImportMessage => write::import_message(session, params).await,
            Method::DeleteMessages => write::delete_messages(session, params).await,
            Method::ClearMessages => write::clear_messages(session).await,
            Method::SetLeaf => write::set_leaf(session, params).await,
            Method::GetMessage => read::get_message(session, params).await,
            Method::GetLatestLeaf => read::get_latest_leaf(session, params).await,
            Method::GetMedia => read::get_media(session, params).await,
            Method::GetHistory => read::get_history(session, params).await,
            Method::ReadHistory => read::read_history(session, params).await,
            Method::GetRecentHistory => read::get_recent_history(session, params).await,
            Method::GetHistoryRowStats => read::get_history_row_stats(session, params).await,
            Method::GetBranches => read::get_branches(session, params).await,
            Method::ListMessages => read::list_messages(session, params).await,
            Method::Compact => compaction::compact(session, params).await,
            Method::PrepareCompaction => compaction::prepare(session, params).await,
            Method::CommitCompaction => compaction::commit(session, params).await,
            Method::AddCompaction => compaction::add(session, params).await,
            Method::GetCompactions => compaction::get_all(session).await,
            Method::RemoveCompaction => compaction::remove(session, params).await,
            Method::DefineBlock => context::define(session, params).await,
            Method::RemoveBlock => context::remove(session, params).await,
            Method::GetBlock => context::get(session, params).await,
            Method::ListBlocks => context::list(session).await,
            Method::WriteBlock => context::write(session, params).await,
            Method::BlockHistory => context::history(session, params).await,
            Method::RestoreBlock => context::restore(session, params).await,
            Method::SystemPrompt => context::system_prompt(session).await,
            Method::RefreshSystemPrompt => context::refresh_system_prompt(session).await,
            Method::Reminder => context::reminder(session).await,
            Method::Tools => context::tools(session).await,
            Method::CallTool => context::call_tool(session, params).await,
            Method::SessionInfo => sessions::info(session).await,
            Method::SetTitle => sessions::set_title(session, params).await,
            Method::DeleteSession => sessions::delete(session).await,
            Method::ForkSession => sessions::fork(session, params).await,
            Method::Configure
            | Method::Search
            | Method::ListSessions
            | Method::Changes
            | Method::ExportLines
            | Method::Snapshot
            | Method::Vacuum
            | Method::DeleteTenant
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::ImportData
            | Method::Stats
            | Method::Check
            | Method::Close
            | Method::ListTenants
            | Method::Ping => Err(Failure::method(&self.request.method)),
        }
    }
}

fn ping() -> String {
    Object::new()
        .text("name", "talktree")
        .text("version", env!("CARGO_PKG_VERSION"))
        .text("apiVersion", API_VERSION)
        .finish()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::store(
            error.kind().as_str(),
            error.message(),
            error.subject().map(str::to_owned),
            error.current(),
            error.limit(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Method, Scope};

    /// What users read.
    const PAGE: &str = include_str!("../../../../docs/rpc.md");

    #[test]
    fn every_method_is_on_the_page_with_all_its_params_and_no_other_is() {
        let rows = PAGE.lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>();
        let names: Vec<_> = rows.iter().filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(names.len(), Method::ALL.len());
        for method in Method::ALL {
            let row = rows.iter().find(|row| row.starts_with(&format!("| `{}` |", method.name())));
            let row = row.unwrap_or_else(|| panic!("{} is not on the page", method.name()));
            let columns: Vec<_> = row.split('|').map(str::trim).collect();
            let mark = match method.scope() {
                Scope::Root => "",
                Scope::Tenant => "T",
                Scope::Session => "S",
            };
            assert_eq!(columns[2].chars().next().map(String::from).unwrap_or_default(), mark, "{row}");
            for param in method.params() {
                assert!(columns[3].contains(&format!("`{param}`")), "{param} of {}", method.name());
            }
        }
    }
}
