/* Pare as a C library: repairs and fits the histories that agents send to language models.
 *
 *	pare_result r;
 *	if (pare_call("fix", body, len, NULL, 0, NULL, &r) != 0)
 *		fprintf(stderr, "%s\n", r.error);
 *	else if (r.body != NULL)
 *		send(r.body, r.body_len);        // repaired
 *	else
 *		send(body, len);                 // clean: it stays as it is
 *	pare_free(&r);
 *
 * Any thread may call, many at once. All texts are UTF-8. */
#ifndef PARE_H
#define PARE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call asks its caller; NULL: it does without. Each may be called by another thread than the
 * one that waits in pare_call, but only one of them at a time. User is passed through. */
typedef struct pare_callbacks {
	void *user;
	/* Counts the tokens of a text; less than 0: it failed. */
	long long (*count)(void *user, const char *text, size_t len);
	/* Gets the blocks of a history, a JSON list of {"block","message","path","role","kind","tool",
	 * "call_id","failed","text"}, and returns votes, a JSON list of {"block":N,"vote":"drop",
	 * "protect" or "edit","text","reason"}. The answer comes from pare_alloc, and is freed by the
	 * library; NULL: it failed. */
	char *(*rule)(void *user, const char *blocks, size_t len, size_t *answer_len);
	/* Gets what is taken out, {"blocks":[...],"prior":"...","max_tokens":N}, and returns a summary,
	 * as a text; the same holds for its memory. */
	char *(*summarize)(void *user, const char *removed, size_t len, size_t *answer_len);
} pare_callbacks;

/* What a call answers. All texts end with a zero byte that does not count. */
typedef struct pare_result {
	char *body; /* NULL: nothing was changed, the body that was given is the result */
	size_t body_len;
	char *report; /* JSON; NULL: there was nothing to do */
	size_t report_len;
	char *error; /* JSON, {"type","message"}; NULL: there was none */
	size_t error_len;
} pare_result;

/* Does what call says to a body: fix, fit, check, count, split or compact. Options are a JSON object,
 * or NULL. Returns 0, or 1 if result has an error. The body is only read, and only until this
 * returns.
 *
 * In a child that fork has made of a process with this library in it, every call is the error
 * "forked": the threads of the library are gone there. Load it in the child instead, or call exec. */
int pare_call(const char *call, const char *body, size_t body_len, const char *options, size_t options_len,
              const pare_callbacks *callbacks, pare_result *result);

/* Frees what a result holds. */
void pare_free(pare_result *result);

/* Memory for the answer of a callback. */
char *pare_alloc(size_t len);

#ifdef __cplusplus
}
#endif

#endif
