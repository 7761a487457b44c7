#include "pare.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
static int forked(void) { return 0; }
#else
#include <unistd.h>
#define EXPORT __attribute__((visibility("default")))

static pid_t loaded_by;

__attribute__((constructor)) static void loaded(void) { loaded_by = getpid(); }

/* In a child of fork only the thread lives that called it: whoever enters Go there waits forever. */
static int forked(void) { return getpid() != loaded_by; }
#endif

int pareGoCall(char *call, char *body, size_t body_len, char *options, size_t options_len, pare_callbacks *callbacks, pare_result *result);

EXPORT int pare_call(const char *call, const char *body, size_t body_len, const char *options, size_t options_len,
                     const pare_callbacks *callbacks, pare_result *result) {
	static const char refused[] =
	    "{\"type\":\"forked\",\"message\":\"the library was loaded before this process was forked, and its threads are gone: load it in the child, or use spawn\"}";
	memset(result, 0, sizeof *result);
	if (forked()) {
		result->error_len = sizeof refused - 1;
		result->error = malloc(sizeof refused);
		if (result->error != NULL)
			memcpy(result->error, refused, sizeof refused);
		return 1;
	}
	return pareGoCall((char *)call, (char *)body, body_len, (char *)options, options_len, (pare_callbacks *)callbacks, result);
}

EXPORT void pare_free(pare_result *result) {
	free(result->body);
	free(result->report);
	free(result->error);
	memset(result, 0, sizeof *result);
}

EXPORT char *pare_alloc(size_t len) { return malloc(len > 0 ? len : 1); }
