//! The end of a server in good order.
#![cfg(unix)]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use talktree_tests::load::client::{Client, Outcome, Transport};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    client::{Server, append, command, next},
    program::Program,
};

#[test]
fn what_was_accepted_is_answered_and_nothing_is_lost() {
    let root = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(root, &[]);
    // Conversations and requests that are under way when it is told to end.
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = Vec::new();
    for client in 0..4 {
        let mut socket = server.socket("/rpc", &[]).unwrap();
        let stop = Arc::clone(&stop);
        clients.push(thread::spawn(move || {
            let mut sent = 0;
            let mut acknowledged = Vec::new();
            loop {
                if !stop.load(Ordering::Relaxed) {
                    let params = append(&format!("s{client}"), &format!("m{sent}"), "x");
                    let request = json!({"jsonrpc": "2.0", "id": sent, "method": "appendMessage", "params": params});
                    if socket.send(Message::text(request.to_string())).is_err() {
                        return acknowledged;
                    }
                    sent += 1;
                }
                let Some(text) = next(&mut socket) else { return acknowledged };
                let answer: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(answer["result"]["inserted"], true, "{answer}");
                acknowledged.push(answer["id"].as_u64().unwrap());
            }
        }));
    }
    thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(20));
    stop.store(true, Ordering::Relaxed);
    let acknowledged: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let root = std::mem::replace(&mut server.root, tempfile::tempdir().unwrap());
    let server = Server::start_in(root, &[]);
    for (client, acknowledged) in acknowledged.iter().enumerate() {
        assert!(!acknowledged.is_empty());
        let mut cursor = Value::Null;
        let mut stored = 0;
        loop {
            let page =
                server.call("listMessages", &json!({"tenant": format!("s{client}"), "limit": 1000, "cursor": cursor}));
            stored += page["messages"].as_array().unwrap().len();
            cursor = page["cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert!(stored >= acknowledged.len(), "{stored} stored, {} acknowledged", acknowledged.len());
    }
}

#[test]
fn idle_connections_do_not_hold_it_up() {
    let mut server = Server::start(&[]);
    let idle = server.connect();
    let mut used = server.connect();
    assert_eq!(used.rpc("/rpc", None, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 200);
    let mut socket = server.socket("/rpc", &[]).unwrap();
    let mut agent = server.socket("/agents/coder-agent/t", &[]).unwrap();
    let begun = Instant::now();
    server.terminate();
    assert_eq!(next(&mut socket), None);
    assert_eq!(next(&mut agent), None);
    drop((socket, agent));
    assert_eq!(server.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop(idle);
    assert!(used.answer().is_none());
}

/// What is stored is exactly what was answered: nothing that was answered is lost, and nothing is carried out unanswered.
#[test]
fn under_load_all_that_is_carried_out_is_answered_by_every_way_in() {
    let root = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(root, &[]);
    let address = server.address;
    let clients: Vec<_> = (0..12)
        .map(|number| {
            thread::spawn(move || {
                let transport = Transport::ALL[number % Transport::ALL.len()];
                let mut client = Client::new(transport, address);
                let mut answered = Vec::new();
                for round in 0.. {
                    let ids: Vec<_> = (0..10).map(|at| format!("m{number}-{round}-{at}")).collect();
                    let params = |id: &String| {
                        let mut params = append(&format!("t{}", number % 5), id, "x");
                        params["session"] = json!(number.to_string());
                        params
                    };
                    let calls: Vec<_> = ids.iter().map(|id| ("appendMessage", params(id))).collect();
                    let mut lost = false;
                    for (id, outcome) in ids.into_iter().zip(client.call_all(&calls)) {
                        match outcome {
                            Outcome::Done(_) => answered.push(id),
                            Outcome::Lost(_) => lost = true,
                            // There is a limit to what is taken at a time; what is refused is not stored.
                            Outcome::Refused { kind, .. } if kind == "busy" => {}
                            Outcome::Refused { .. } => panic!("{transport:?} {id}: {outcome:?}"),
                        }
                    }
                    if lost {
                        break;
                    }
                }
                answered
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(700));
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let answered: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let root = std::mem::replace(&mut server.root, tempfile::tempdir().unwrap());
    let server = Server::start_in(root, &[]);
    for (number, mut answered) in answered.into_iter().enumerate() {
        assert!(!answered.is_empty(), "{number}");
        let of = json!({"tenant": format!("t{}", number % 5), "session": number.to_string()});
        let mut stored = stored_ids(&mut |params| server.call("listMessages", &params), of);
        stored.sort_unstable();
        answered.sort_unstable();
        assert_eq!(stored, answered, "client {number}");
    }
}

#[test]
fn on_stdin_all_that_is_carried_out_is_answered() {
    let root = tempfile::tempdir().unwrap();
    let mut rpc = command();
    rpc.args(["rpc", "--root"]).arg(root.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = rpc.spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let writing = thread::spawn(move || {
        for number in 0.. {
            let params = append(&format!("t{}", number % 3), &format!("m{number}"), "x");
            let request = json!({"jsonrpc": "2.0", "id": number, "method": "appendMessage", "params": params});
            if writeln!(input, "{request}").is_err() {
                return;
            }
        }
    });
    let reading = thread::spawn(move || {
        let mut answered = vec![Vec::new(); 3];
        for line in output.lines() {
            let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
            assert_eq!(answer["result"]["inserted"], true, "{answer}");
            let number = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
            answered[number % 3].push(format!("m{number}"));
        }
        answered
    });
    thread::sleep(Duration::from_millis(700));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    writing.join().unwrap();
    let answered = reading.join().unwrap();
    let mut program = Program::start(root.path());
    for (number, answered) in answered.into_iter().enumerate() {
        assert!(!answered.is_empty(), "{number}");
        // In their order, too.
        let of = json!({"tenant": format!("t{number}")});
        assert_eq!(stored_ids(&mut |params| program.result("listMessages", &params), of), answered);
    }
    program.finish();
}

/// The ids of all messages of a session, in the order in which they were written.
fn stored_ids(list: &mut dyn FnMut(Value) -> Value, mut of: Value) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        of["limit"] = json!(1000);
        let page = list(of.clone());
        ids.extend(page["messages"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()));
        of["cursor"] = page["cursor"].clone();
        if of["cursor"].is_null() {
            return ids;
        }
    }
}
