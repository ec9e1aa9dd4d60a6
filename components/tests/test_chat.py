"""The chat back end under `wasmtime serve`: a directory, many requests at once, servers that die."""

import http.client
import json
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

from hosts import Model, Serving, invoke, message

CHAT = "chat.wasm"


def url(server: str, user: str, conversation: str) -> str:
    """Where a conversation is."""
    return f"{server}/api/chat?{urlencode({'user': user, 'conversation': conversation})}"


def post(place: str, body: str, accept: str = "application/json") -> tuple[int, str]:
    """Posts JSON and answers status and body."""
    request = urllib.request.Request(place, body.encode(), {"content-type": "application/json", "accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def say(place: str, said: str) -> tuple[int, str]:
    """Posts a message as the client's last one."""
    return post(place, f'{{"message":{said}}}')


def history(place: str) -> list[dict[str, object]]:
    """The conversation."""
    with urllib.request.urlopen(place, timeout=120) as response:
        messages: list[dict[str, object]] = json.loads(response.read())["messages"]
        return messages


class Chat(unittest.TestCase):
    """One promise each."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def test_a_turn_is_stored_with_its_answer_and_read_back_after_a_restart(self) -> None:
        said = '{"role":"user", "id":"m1","parts":[{"type":"text","text":"Which port?"}],"n":18446744073709551616}'
        with Serving(CHAT, self.directory) as server:
            status, body = say(url(server.url, "easy", "test1"), said)
            self.assertEqual(status, 200, body)
            answer = json.loads(body)["message"]
            self.assertEqual((answer["id"], answer["role"]), ("m1-answer", "assistant"))
            self.assertIn("You said: Which port?", answer["parts"][0]["text"])
        with Serving(CHAT, self.directory) as server:
            place = url(server.url, "easy", "test1")
            self.assertEqual([stored["id"] for stored in history(place)], ["m1", "m1-answer"])
            with urllib.request.urlopen(place, timeout=60) as response:
                self.assertIn('"n":18446744073709551616', response.read().decode(), "it comes back as it was sent")
            self.assertEqual(history(url(server.url, "easy", "other")), [])
            self.assertEqual(say(place, said), (200, body), "sent again: the same answer, and nothing is stored")
            self.assertEqual(len(history(place)), 2)
            status, _ = say(place, message("m1", "user", "Something else"))
            self.assertEqual(status, 409)

    def test_an_answer_can_be_read_by_the_ai_sdk(self) -> None:
        with Serving(CHAT, self.directory) as server:
            body = f'{{"id":"chat","messages":[{message("m1", "user", "Hi")}],"trigger":"submit-message"}}'
            status, text = post(url(server.url, "a", "b"), body, "*/*")
            self.assertEqual(status, 200, text)
            chunks = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
            self.assertEqual(chunks[-1], "[DONE]")
            kinds = [json.loads(chunk)["type"] for chunk in chunks[:-1]]
            self.assertEqual(kinds, ["start", "text-start", "text-delta", "text-end", "finish"])
            self.assertEqual(json.loads(chunks[0])["messageId"], "m1-answer")

    def test_what_a_client_gets_wrong_is_said_and_nothing_is_stored(self) -> None:
        with Serving(CHAT, self.directory) as server:
            hello = message("m1", "user", "Hi")
            self.assertEqual(say(url(server.url, "a:b", "c"), hello)[0], 400)
            self.assertEqual(say(url(server.url, "a", "b:c"), hello)[0], 200)
            self.assertEqual(say(f"{server.url}/api/chat?user=a", hello)[0], 400)
            self.assertEqual(say(f"{server.url}/api/other", hello)[0], 404)
            place = url(server.url, "a", "c")
            wrong = ["", "[]", "{}", '{"message":1}', f'{{"message":{message("m2", "assistant", "I")}}}']
            wrong += ['{"message":{"id":"","role":"user","parts":[]}}', '{"message":{"id":"x","role":"user"}}']
            for body in wrong:
                status, answer = post(place, body)
                self.assertEqual(status, 400, f"{body}: {answer}")
                self.assertIn("message", json.loads(answer)["error"])
            self.assertEqual(history(place), [])

    def test_a_server_of_models_is_asked_with_the_conversation(self) -> None:
        with Model("8443.") as model:
            variables = {"CHAT_URL": model.url, "CHAT_MODEL": "m", "CHAT_KEY": "k"}
            with Serving(CHAT, self.directory, variables) as server:
                place = url(server.url, "a", "b")
                for number in (1, 2):
                    status, body = say(place, message(f"m{number}", "user", f"Question {number}"))
                    self.assertEqual(status, 200, body)
            asked = [(said["role"], said["content"]) for said in model.asked[1]["messages"]]
            self.assertEqual(asked, [("user", "Question 1"), ("assistant", "8443."), ("user", "Question 2")])
        with Model("", status=503) as model, Serving(CHAT, self.directory, {"CHAT_URL": model.url}) as server:
            place = url(server.url, "a", "b")
            self.assertEqual(say(place, message("m3", "user", "Question 3"))[0], 502)
            self.assertEqual(history(place)[-1]["id"], "m3", "what was asked is stored; asking again gets an answer")

    def test_many_clients_at_once_and_servers_that_die_lose_nothing_and_store_nothing_twice(self) -> None:
        clients, turns = 6, 8
        servers = [Serving(CHAT, self.directory), Serving(CHAT, self.directory)]
        self.addCleanup(lambda: [server.kill() for server in servers])
        done, busy, killed = threading.Event(), threading.Event(), threading.Event()
        kills = 0

        def kill_and_restart() -> None:
            nonlocal kills
            busy.wait(300)
            # A store whose writer was killed is shut for up to five seconds; then there has to be time for some work.
            while not done.wait(7 if kills else 0):
                which = kills % len(servers)
                servers[which].kill()
                servers[which] = Serving(CHAT, self.directory)
                kills += 1
                killed.set()

        def until_answered(client: int, conversation: str, identity: str) -> None:
            attempt, until = 0, time.monotonic() + 300
            while time.monotonic() < until:
                attempt += 1
                try:
                    place = url(servers[(client + attempt) % len(servers)].url, "user", conversation)
                    status, body = say(place, message(identity, "user", f"I am {identity}"))
                except (OSError, http.client.HTTPException):
                    status, body = 0, ""
                if status == 200:
                    self.assertEqual(json.loads(body)["message"]["id"], f"{identity}-answer")
                    return
                self.assertIn(status, (0, 503), body)
                time.sleep(0.1)
            raise AssertionError(f"{identity} was never answered")

        def client(number: int) -> None:
            for turn in range(turns):
                # However fast the machine is, a server dies while all are at it, and there is work left after that.
                if turn == 1:
                    busy.set()
                elif turn == turns - 1:
                    killed.wait(300)
                until_answered(number, f"own-{number}", f"c{number}-{turn}")
                until_answered(number, "shared", f"s{number}-{turn}")

        killer = threading.Thread(target=kill_and_restart)
        killer.start()
        try:
            with ThreadPoolExecutor(clients) as pool:
                list(pool.map(client, range(clients)))
        finally:
            done.set()
            busy.set()
            killer.join()
        self.assertGreater(kills, 0, "no server died while clients were at it")
        for number in range(clients):
            ids = [stored["id"] for stored in history(url(servers[0].url, "user", f"own-{number}"))]
            expected = [id for turn in range(turns) for id in (f"c{number}-{turn}", f"c{number}-{turn}-answer")]
            self.assertEqual(ids, expected)
        for server in servers:
            server.kill()
        self.check_shared(clients, turns)

    def check_shared(self, clients: int, turns: int) -> None:
        """In a conversation of many, each message and each answer is there once, and each answer hangs under its message."""
        tree = invoke("sessions-standalone.wasm", self.directory, 'list-messages("user:shared", none, some(1000))')
        self.assertTrue(tree.startswith("ok("), tree)
        for client in range(clients):
            for turn in range(turns):
                identity = f"s{client}-{turn}"
                self.assertEqual(tree.count(f'{{id: "{identity}",'), 1, tree)
                self.assertEqual(tree.count(f'{{id: "{identity}-answer",'), 1, tree)
                self.assertIn(f'{{id: "{identity}-answer", parent-id: some("{identity}"),', tree)


if __name__ == "__main__":
    unittest.main()
