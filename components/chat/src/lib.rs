//! A chat back end as a component: it exports `wasi:http/incoming-handler` and imports `talktree:sessions/store`.
//!
//! `POST /api/chat?user=U&conversation=C` with the client's last message, as `{"message": UIMessage}`, or as the last of
//! `{"messages": [...]}`: it is stored, the model is asked with what is stored, and its answer is stored and returned. `GET`
//! answers with the whole conversation. See [`chat`] for what is promised, and [`http`] for how answers look.
//!
//! The model is a chat-completions server (`CHAT_URL`, `CHAT_MODEL`, `CHAT_KEY`); without `CHAT_URL` it is a script.

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package talktree:chat;
            world component {
                import talktree:sessions/store@0.1.0;
            }
        ",
        path: "../../wit",
        generate_all,
    });
}

mod chat;
mod http;
mod model;
mod problem;
mod query;

use wasip2::http::types::{IncomingRequest, ResponseOutparam};

struct Handler;

impl wasip2::exports::http::incoming_handler::Guest for Handler {
    fn handle(request: IncomingRequest, response: ResponseOutparam) {
        http::respond(response, http::route(&request));
    }
}

wasip2::http::proxy::export!(Handler);
