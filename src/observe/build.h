/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_BUILD_H
#define TARE_OBSERVE_BUILD_H

/* Which build this is: version, flags, and the libraries it runs with. For --version and provenance. */
const char *build_version(void);
const char *build_flags(void); /* "release, gcc 12.2.0" */

/* Calls fn with each library's name and the version that is loaded; DPDK's is the one it was built with. */
void build_libraries(void (*fn)(void *context, const char *name, const char *version), void *context);

#endif
