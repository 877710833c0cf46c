/* A small profile and the findings of it.  A test fills B, calls judge(), and looks at FOUND. */
#pragma once

#include "summary/findings.h"
#include "tests/support/profile_builder.h"

extern struct profile_builder b;
extern struct findings found;

/* Ends the recording at END_MS and judges it. */
void judge(int64_t end_ms);
void teardown(void);
/* The finding at PLACE is RULE's, and says WORDS. */
void assert_told(size_t place, const char *rule, const char *words);
void assert_not_told(const char *rule);
bool is_said(const char *words); /* in any that is printed */
