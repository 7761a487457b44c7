/* Calls the library as a program in C does. Prints what went wrong and returns 1, or prints figures. */
#define _GNU_SOURCE
#include "../pare.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;
#define WANT(ok)                                                       \
	do {                                                               \
		if (!(ok)) {                                                   \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #ok); \
			failures++;                                                \
		}                                                              \
	} while (0)

static const char clean[] = "{\"model\":\"claude-sonnet-4-5\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";
static const char answered[] =
    "{\"model\":\"claude-sonnet-4-5\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},{\"role\":\"assistant\",\"content\":\"run\"},"
    "{\"role\":\"user\",\"content\":\"and?\"}]}";
static const char broken[] =
    "{\"model\":\"claude-sonnet-4-5\",\"messages\":[{\"role\":\"user\",\"content\":\"run\"},{\"role\":\"assistant\",\"content\":"
    "[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"bash\",\"input\":{}}]},{\"role\":\"user\",\"content\":\"and?\"}]}";

static int call(const char *name, const char *body, const char *options, const pare_callbacks *cb, pare_result *r) {
	return pare_call(name, body, strlen(body), options, options != NULL ? strlen(options) : 0, cb, r);
}

static long long counted;
static long long count(void *user, const char *text, size_t len) {
	(void)text;
	(*(long long *)user)++;
	return (long long)len / 4;
}
static long long refuse(void *user, const char *text, size_t len) { return (void)user, (void)text, (void)len, -1; }

static char *rule(void *user, const char *blocks, size_t len, size_t *n) {
	const char *votes = user;
	if (votes == NULL || memmem(blocks, len, "\"kind\":\"text\"", 13) == NULL)
		return NULL;
	char *answer = pare_alloc(*n = strlen(votes));
	memcpy(answer, votes, *n);
	return answer;
}

static void *thread(void *unused) {
	for (int i = 0; i < 200; i++) {
		pare_result r;
		WANT(call("fix", broken, NULL, NULL, &r) == 0 && r.body != NULL);
		pare_free(&r);
	}
	return unused;
}

static void calls(void) {
	pare_result r;
	WANT(call("fix", clean, NULL, NULL, &r) == 0 && r.body == NULL && r.report == NULL && r.error == NULL);
	pare_free(&r);
	WANT(call("fix", broken, NULL, NULL, &r) == 0 && r.body != NULL && strstr(r.report, "\"rule\":\"orphan-call\"") != NULL);
	WANT(strlen(r.body) == r.body_len && strlen(r.report) == r.report_len);
	pare_free(&r);
	WANT(call("check", broken, "{\"strict\":true}", NULL, &r) == 0 && strstr(r.report, "orphan-call") != NULL);
	pare_free(&r);
	WANT(call("fit", broken, "{\"max_tokens\":1}", NULL, &r) == 1 && strstr(r.error, "\"type\":\"window_too_small\"") != NULL);
	pare_free(&r);
	WANT(call("fix", "{", NULL, NULL, &r) == 1 && strstr(r.error, "\"type\":\"unreadable\"") != NULL && r.body == NULL);
	pare_free(&r);
	WANT(pare_call("fix", NULL, 0, NULL, 0, NULL, &r) == 1 && strstr(r.error, "unreadable") != NULL);
	pare_free(&r);
}

static void callbacks(void) {
	pare_result r;
	pare_callbacks cb = {.user = &counted, .count = count};
	WANT(call("count", broken, NULL, &cb, &r) == 0 && counted > 0);
	pare_free(&r);
	cb.count = refuse;
	WANT(call("count", broken, NULL, &cb, &r) == 1 && strstr(r.error, "the counter failed") != NULL);
	pare_free(&r);
	cb = (pare_callbacks){.user = "[{\"block\":1,\"vote\":\"edit\",\"text\":\"walk\",\"reason\":\"slower\"}]", .rule = rule};
	WANT(call("fix", answered, NULL, &cb, &r) == 0 && r.body != NULL && strstr(r.body, "\"walk\"") != NULL);
	pare_free(&r);
	cb.user = NULL;
	WANT(call("fix", answered, NULL, &cb, &r) == 1 && strstr(r.error, "the rule failed") != NULL);
	pare_free(&r);
}

static void child(void) {
	pid_t pid = fork();
	if (pid == 0) {
		pare_result r;
		_exit(call("fix", broken, NULL, NULL, &r) == 1 && strstr(r.error, "\"type\":\"forked\"") != NULL ? 7 : 1);
	}
	int status;
	WANT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Figures are printed, and decide nothing. */
static void figures(const char *path) {
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		return;
	static char body[8 << 20];
	size_t n = fread(body, 1, sizeof body, f);
	fclose(f);
	double best = 1e9;
	for (int i = 0; i < 20; i++) {
		pare_result r;
		double from = now();
		WANT(pare_call("fix", body, n, NULL, 0, NULL, &r) == 0 && r.body == NULL);
		double took = now() - from;
		if (took < best)
			best = took;
		pare_free(&r);
	}
	double from = now();
	for (int i = 0; i < 2000; i++) {
		pare_result r;
		call("fix", clean, NULL, NULL, &r);
		pare_free(&r);
	}
	printf("clean %zu bytes: %.0f us; smallest call: %.2f us\n", n, best, (now() - from) / 2000);
}

int main(int argc, char **argv) {
	calls();
	callbacks();
	child();
	pthread_t all[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	child();
	if (argc > 1)
		figures(argv[1]);
	return failures > 0;
}
