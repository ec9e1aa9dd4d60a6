//! Search through the sandbox.

use talktree::{SearchFields, SearchPage};

use crate::place::{Place, message};

fn ids(page: &SearchPage) -> Vec<&str> {
    page.results.iter().map(|result| result.id.as_str()).collect()
}

#[tokio::test]
async fn the_first_search_finds_what_was_written_before_it_and_each_later_one_what_came_since() {
    let place = Place::new().await;
    let session = place.session();
    session.append_message(message("a", "user", "讨论了部署窗口")).await.unwrap();
    session.append_message(message("b", "assistant", "It was deployed; the café is open.")).await.unwrap();
    assert_eq!(ids(&session.search("部署").await.unwrap()), ["a"]);
    assert_eq!(ids(&session.search("DEPLOY cafe").await.unwrap()), ["b"]);
    session.append_message(message("c", "user", "rolled back")).await.unwrap();
    assert_eq!(ids(&session.search("\"rolled back\"").await.unwrap()), ["c"]);
    session.update_message(message("c", "user", "went on")).await.unwrap();
    session.delete_messages(["a"]).await.unwrap();
    let place = place.again().await;
    let session = place.session();
    assert!(session.search("rolled").await.unwrap().results.is_empty());
    assert!(session.search("部署").await.unwrap().results.is_empty());
    assert_eq!(ids(&session.search("went").await.unwrap()), ["c"]);
}

#[tokio::test]
async fn one_tenant_never_finds_the_messages_of_another() {
    let place = Place::new().await;
    place.talktree.tenant("x").unwrap().session("").append_message(message("a", "user", "needle")).await.unwrap();
    assert!(place.tenant().search("needle").await.unwrap().results.is_empty());
    assert_eq!(place.talktree.list_tenants().await.unwrap().tenants, ["x"], "a search brings no tenant into being");
}

#[tokio::test]
async fn a_result_opens_where_it_was_found() {
    let place = Place::new().await;
    for (id, text) in [("one", "a needle here"), ("two", "needle, needle, needle")] {
        place.tenant().session(id).append_message(message("m", "user", text)).await.unwrap();
    }
    for result in place.tenant().search("needle").await.unwrap().results {
        let opened = place.tenant().session(&result.session_id).get_message(&result.id).await.unwrap().unwrap();
        assert_eq!((opened.seq, opened.role), (result.seq, result.role));
        assert!(opened.json.contains(&result.content), "{}", result.content);
        assert!(result.snippet.contains("[needle]"), "{}", result.snippet);
    }
    let of_one = place.tenant().search("needle").session("one".to_owned()).await.unwrap();
    assert_eq!(of_one.results.len(), 1);
}

#[tokio::test]
async fn tools_and_summaries_are_found_where_they_are_asked_for() {
    let place = Place::new().await;
    let session = place.session();
    let call = r#"{"id":"t","role":"assistant","parts":[{"type":"tool-grep","toolCallId":"1","state":"output-available","input":{"q":"sluice"},"output":"weir"}]}"#;
    session.append_message(call).await.unwrap();
    session.append_message(message("b", "user", "and then")).await.unwrap();
    session.add_compaction("They spoke of estuaries.", "t", "t").await.unwrap();
    assert!(session.search("sluice").await.unwrap().results.is_empty());
    assert_eq!(ids(&session.search("sluice weir").fields(SearchFields::TOOLS).await.unwrap()), ["t"]);
    let found = session.search("estuaries").fields(SearchFields::SUMMARIES).await.unwrap();
    assert!(found.results[0].id.starts_with("compaction_"));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_carried_out_between_the_steps_of_a_first_index() {
    let place = Place::with(|builder| builder.durability(talktree::Durability::Normal)).await;
    let session = place.session();
    let text = "somewhat longer words about deployment windows and what became of them ".repeat(40);
    for chunk in 0..20 {
        let messages = (0..500).map(|n| message(&format!("m{chunk}.{n}"), "user", &text));
        session.append_messages(messages).await.unwrap();
    }
    let searching = tokio::spawn(session.search("deployment").limit(1).into_future());
    let mut between = 0;
    while !searching.is_finished() {
        session.get_latest_leaf().await.unwrap();
        between += 1;
    }
    assert_eq!(searching.await.unwrap().unwrap().results.len(), 1);
    assert!(between > 1, "the index was built in one turn");
}
