//! The methods: their names, the params that each knows, and the way to the store and back.

mod compaction;
mod import;
mod read;
mod store;
mod write;

use super::{API_VERSION, failure::Failure, json::Object, params::Params, request::Request};
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
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Method::$method),)*
                    _ => None,
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
    ImportData "importData" Tenant ["format", "data", "session"],
    Stats "stats" Tenant [],
    Check "check" Tenant [],
    Close "close" Tenant [],
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
    pub(super) fn of(request: Request) -> Result<Self, Failure> {
        let method = Method::named(&request.method).ok_or_else(|| Failure::method(&request.method))?;
        let params = Params::of(&request, &[method.scope().params(), method.params()])?;
        let tenant = match method.scope() {
            Scope::Root => None,
            Scope::Tenant | Scope::Session => Some(params.tenant()?),
        };
        Ok(Self { method, tenant, request })
    }

    /// The tenant in whose turn it has to be.
    pub(super) fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// Once it has begun, what comes behind it need not wait for its end.
    pub(super) fn gives_way(&self) -> bool {
        matches!(self.method, Method::Compact | Method::ImportData)
    }

    /// Carries it out: the result's JSON text.
    pub(super) async fn run(self, talktree: &Talktree) -> Result<String, Failure> {
        let params = Params::of(&self.request, &[self.method.scope().params(), self.method.params()])?;
        let Some(tenant) = &self.tenant else {
            return match self.method {
                Method::ListTenants => store::list_tenants(talktree, params).await,
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
            Method::Configure
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
