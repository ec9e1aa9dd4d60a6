//! What the protocol asks for, answered.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Extensions, Implementation,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};

use super::{
    Confinement, arguments,
    catalogue::{self, Effect, TOOLS, find},
    resources,
};
use crate::rpc::Service;

/// What a model is told of the whole.
const INSTRUCTIONS: &str = "Durable conversations: trees of messages that are kept byte for byte. Any message can be \
    answered twice, and every branch stays. Messages are given and taken as JSON in strings. Read with read_history, \
    find with search_messages, write with append_message; what is to be remembered goes into memory blocks.";

/// On whose behalf a request is carried out, and what it is confined to.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) service: Service,
    pub(crate) confinement: Confinement,
}

/// Answers the requests of the protocol.
#[derive(Clone)]
pub(crate) struct Handler {
    /// The one for all requests; none: each HTTP request brings its own.
    access: Option<Access>,
}

impl Handler {
    pub(crate) fn new(access: Option<Access>) -> Self {
        Self { access }
    }

    fn access<'a>(&'a self, extensions: &'a Extensions) -> Result<&'a Access, ErrorData> {
        let own = || extensions.get::<Parts>()?.extensions.get::<Access>();
        self.access.as_ref().or_else(own).ok_or_else(|| ErrorData::internal_error("nobody was recognised", None))
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
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("talktree", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let confinement = &self.access(&context.extensions)?.confinement;
        let tools = TOOLS.iter().filter(|tool| tool.is_for(confinement)).map(|tool| shown(tool, confinement));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Access { service, confinement } = self.access(&context.extensions)?;
        let tool = find(&request.name, confinement)
            .ok_or_else(|| ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None))?;
        let wrong = |sentence: String| CallToolResult::error(vec![ContentBlock::text(sentence)]).into();
        let arguments = request.arguments.unwrap_or_default();
        let (mut params, id) = match arguments::params(tool, confinement, &arguments) {
            Ok(params) => params,
            Err(sentence) => return Ok(wrong(format!("invalid-argument: {sentence}"))),
        };
        let result = match service.invoke(tool.method, &mut params).await {
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
        let access = self.access(&context.extensions)?;
        resources::list(access, request.and_then(|request| request.cursor)).await
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
        let access = self.access(&context.extensions)?;
        Ok(resources::content(access, &request.uri).await?.into())
    }
}
