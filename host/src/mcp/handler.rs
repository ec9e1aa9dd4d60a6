//! What the protocol asks for, answered.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::request::Parts;
use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Extensions,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};

use super::{
    Confinement, arguments,
    catalogue::{self, Effect, TOOLS, find},
    prompts, resources,
};
use crate::{
    Result, Talktree,
    rpc::{Caller, Failure, Object, Service},
};

/// What a model is told of the whole.
/// Some clients show the first 2,000 bytes of it, and some look here for which tools to load: so it is short, and says when
/// to use them.
const INSTRUCTIONS: &str = "Talktree is your memory across conversations, and keeps conversations themselves.\n\
    Before you begin a task, or when something was \"said before\", \"decided\" or \"as usual\": read the memory with \
    list_blocks, and look for the words of the task with search_messages.\n\
    When you learn what should outlast this conversation (a decision and its reason, a preference, where something is, \
    what has failed): write it into a memory block with write_block (define_block makes one; a block has a limit, so \
    rewrite it shorter rather than append for ever). What happened, in order, goes into a conversation with \
    append_message.\n\
    A conversation is a tree: any message can be answered twice (append_message with the parentId), every branch stays, \
    and switch_branch goes back to one. Read with read_history. Nothing is lost but by delete_messages, update_message \
    and remove_block: ask the user first. Messages are JSON in strings. After busy or timed-out the same call can be \
    made again, with the same message id.";

/// On whose behalf a request is carried out, and what it is confined to.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) service: Service,
    pub(crate) confinement: Confinement,
}

/// A Talktree that may still be opening.
pub(super) type Opening = Shared<BoxFuture<'static, Result<Talktree>>>;

/// How long a call is tried again while something else has the tenant. A model has no way to wait.
const BUSY: Duration = Duration::from_secs(5);
/// How long is waited between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers the requests of the protocol.
#[derive(Clone)]
pub(crate) struct Handler(Whose);

/// On whose behalf requests are carried out.
#[derive(Clone)]
enum Whose {
    /// All on behalf of the same one. What a client asks at first (which tools there are) is answered while the Talktree is
    /// still opening, which takes seconds where compiled code is not in the cache.
    One { caller: Caller, confinement: Confinement, talktree: Opening },
    /// Each HTTP request tells its own.
    EachRequest,
}

impl Handler {
    /// All requests are of one client.
    pub(super) fn of_one(caller: Caller, confinement: Confinement, talktree: Opening) -> Self {
        Self(Whose::One { caller, confinement, talktree })
    }

    /// Each request has an [`Access`] of its own.
    pub(crate) fn of_each_request() -> Self {
        Self(Whose::EachRequest)
    }

    fn confinement<'a>(&'a self, extensions: &'a Extensions) -> Result<&'a Confinement, ErrorData> {
        match &self.0 {
            Whose::One { confinement, .. } => Ok(confinement),
            Whose::EachRequest => Ok(&told(extensions)?.confinement),
        }
    }

    async fn access(&self, extensions: &Extensions) -> Result<Access, ErrorData> {
        match &self.0 {
            Whose::One { caller, confinement, talktree } => {
                let talktree = talktree.clone().await;
                let talktree = talktree.map_err(|error| ErrorData::internal_error(error.message().to_owned(), None))?;
                Ok(Access { service: Service::new(talktree, caller.clone(), None), confinement: confinement.clone() })
            }
            Whose::EachRequest => Ok(told(extensions)?.clone()),
        }
    }
}

/// Makes something known to others while it is opening.
pub(super) fn opening(talktree: impl Future<Output = Result<Talktree>> + Send + 'static) -> Opening {
    talktree.boxed().shared()
}

fn told(extensions: &Extensions) -> Result<&Access, ErrorData> {
    let access = extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Access>());
    access.ok_or_else(|| ErrorData::internal_error("nobody was recognised", None))
}

/// Carries out a method, and tries it again for a while as long as it is not begun.
async fn invoke(service: &Service, method: &str, params: &Object) -> Result<String, Failure> {
    let begun = Instant::now();
    loop {
        match service.invoke(method, &mut params.clone()).await {
            Err(failure) if failure.kind() == "busy" && begun.elapsed() < BUSY => tokio::time::sleep(PAUSE).await,
            outcome => return outcome,
        }
    }
}

/// A tool as the protocol tells it.
fn shown(tool: &catalogue::Tool, confinement: &Confinement) -> Tool {
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(tool.effect == Effect::Reads)
        .destructive(tool.effect == Effect::Destroys)
        .idempotent(tool.effect == Effect::Reads || tool.effect == Effect::Sets)
        .open_world(false);
    Tool::new(tool.name, tool.description, Arc::new(tool.input_schema(confinement)))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.shape.schema()))
        .with_annotations(annotations)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("talktree", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let confinement = self.confinement(&context.extensions)?;
        let tools = TOOLS.iter().filter(|tool| tool.is_for(confinement)).map(|tool| shown(tool, confinement));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Access { service, confinement } = self.access(&context.extensions).await?;
        let tool = find(&request.name, &confinement)
            .ok_or_else(|| ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None))?;
        let wrong = |sentence: String| CallToolResult::error(vec![ContentBlock::text(sentence)]).into();
        let arguments = request.arguments.unwrap_or_default();
        let (params, id) = match arguments::params(tool, &confinement, &arguments) {
            Ok(params) => params,
            Err(sentence) => return Ok(wrong(format!("invalid-argument: {sentence}"))),
        };
        let result = match invoke(&service, tool.method, &params).await {
            Ok(result) => result,
            Err(failure) => return Ok(wrong(format!("{}: {}", failure.kind(), failure.message()))),
        };
        let (words, values) = tool
            .shape
            .of(&result, id.as_deref())
            .map_err(|error| ErrorData::internal_error(format!("the result cannot be read: {error}"), None))?;
        let mut answer = CallToolResult::success(vec![ContentBlock::text(words)]);
        answer.structured_content = Some(values);
        Ok(answer.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let access = self.access(&context.extensions).await?;
        resources::list(&access, request.and_then(|request| request.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let access = self.access(&context.extensions).await?;
        Ok(resources::content(&access, &request.uri).await?.into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list(self.confinement(&context.extensions)?)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let confinement = self.confinement(&context.extensions)?;
        Ok(prompts::get(confinement, &request.name, request.arguments.as_ref())?.into())
    }
}
