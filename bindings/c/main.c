// A program that keeps notes in Talktree: `notes SESSION TEXT` appends one, `notes SESSION` lists them.
//
// The store is whichever component is composed with it; this file knows only the header that wit-bindgen made.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"

// Errors carry the same record in every case, so one case will do to read it.
static int failed(const char *what, talktree_sessions_store_error_t *error) {
  const notes_string_t *message = &error->val.other.message;
  fprintf(stderr, "notes: %s: %.*s\n", what, (int)message->len, (const char *)message->ptr);
  talktree_sessions_store_error_free(error);
  return EXIT_FAILURE;
}

// Writes a text as a JSON string. Bytes above 0x7f are UTF-8 already.
static void write_json_string(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++) {
    if (*at == '"' || *at == '\\') {
      fprintf(out, "\\%c", *at);
    } else if (*at < 0x20) {
      fprintf(out, "\\u%04x", *at);
    } else {
      fputc(*at, out);
    }
  }
  fputc('"', out);
}

// A message as the store takes it: its number makes the id, so that two notes of the same text are two messages.
static char *message_of(uint32_t number, const char *text) {
  char *json = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&json, &length);
  if (out == NULL) return NULL;
  fprintf(out, "{\"id\":\"note-%" PRIu32 "\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":", number);
  write_json_string(out, text);
  fputs("}]}", out);
  return fclose(out) == 0 ? json : NULL;
}

// The number of the newest note; none is 0.
static bool newest(notes_string_t *session, uint32_t *number, talktree_sessions_store_error_t *error) {
  talktree_sessions_store_option_message_t leaf;
  if (!talktree_sessions_store_get_latest_leaf(session, TALKTREE_SESSIONS_TYPES_MEDIA_MODE_REFERENCE, &leaf, error)) {
    return false;
  }
  *number = leaf.is_some ? leaf.val.seq : 0;
  talktree_sessions_store_option_message_free(&leaf);
  return true;
}

static int append(notes_string_t *session, const char *text) {
  talktree_sessions_store_error_t error;
  uint32_t number;
  if (!newest(session, &number, &error)) return failed("reading", &error);
  char *json = message_of(number + 1, text);
  if (json == NULL) return EXIT_FAILURE;

  notes_string_t message;
  notes_string_set(&message, json);
  talktree_sessions_store_append_options_t options = {
      .parent = {.tag = TALKTREE_SESSIONS_TYPES_PARENT_LATEST},
      .source = TALKTREE_SESSIONS_TYPES_SOURCE_SERVER,
      .expected_leaf = {.tag = TALKTREE_SESSIONS_TYPES_EXPECTED_LEAF_ANY},
  };
  talktree_sessions_store_append_result_t result;
  bool stored = talktree_sessions_store_append_message(session, &message, &options, &result, &error);
  free(json);
  if (!stored) return failed("appending", &error);
  printf("note %" PRIu32 "\n", number + 1);
  talktree_sessions_store_append_result_free(&result);
  return EXIT_SUCCESS;
}

// Pages of the history, so that memory does not grow with it.
static int list(notes_string_t *session) {
  talktree_sessions_store_read_options_t options = {
      .view = {.overlays = true, .media = TALKTREE_SESSIONS_TYPES_MEDIA_MODE_REFERENCE},
  };
  notes_string_t cursor = {0};
  bool more = false;
  do {
    talktree_sessions_store_message_page_t page;
    talktree_sessions_store_error_t error;
    bool read = talktree_sessions_store_read_history(session, &options, more ? &cursor : NULL, &page, &error);
    if (more) notes_string_free(&cursor);
    if (!read) return failed("reading", &error);
    for (size_t index = 0; index < page.messages.len; index++) {
      const talktree_sessions_store_message_t *message = &page.messages.ptr[index];
      printf("%" PRIu32 " %.*s\n", message->seq, (int)message->json.len, (const char *)message->json.ptr);
    }
    more = page.cursor.is_some;
    // Taken out of the page, which is freed as a whole.
    if (more) cursor = page.cursor.val;
    page.cursor.is_some = false;
    talktree_sessions_store_message_page_free(&page);
  } while (more);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    fprintf(stderr, "usage: notes SESSION [TEXT]\n");
    return EXIT_FAILURE;
  }
  notes_string_t session;
  notes_string_set(&session, argv[1]);
  return argc == 3 ? append(&session, argv[2]) : list(&session);
}
