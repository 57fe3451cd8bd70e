/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_HOSTFACTS_H
#define TARE_OBSERVE_HOSTFACTS_H

#include <stddef.h>

/*
 * What a number depends on and a reader of it must know about the host: kept with
 * every campaign, shown by doctor. Names are dotted and stable ("cpu.model");
 * what this host does not tell is "unknown", so a missing fact is a fact too.
 *
 *   host.name host.os host.memory  kernel.release kernel.version
 *   kernel.command_line (of it, what bears on measuring)
 *   cpu.model cpu.microcode cpu.online cpu.allowed cpu.isolated cpu.nohz_full cpu.smt
 *   cpu.governor cpu.boost cpu.idle_driver cpu.idle_states  virtualisation
 *   clock.source clock.available  memory.hugepages
 *   tool.version tool.build  library.NAME ...
 */
typedef void host_fact_fn(void *context, const char *name, const char *value);

/* Calls fn for each, always in the same order. 0; there is nothing that can fail. */
int host_facts(host_fact_fn *fn, void *context);

/* The same of a made-up host whose /proc, /sys and /etc lie under `root`; facts of the processor itself are left out. */
int host_facts_at(const char *root, host_fact_fn *fn, void *context);

/* "none", "KVM", "WSL2 (Hyper-V)", "VMware, in a container", ... Returns buf. */
const char *host_virtualisation(const char *root, char *buf, size_t size_bytes);

/* "C1, C2 (100 us)": the idle states of core 0 that are not off, the time it takes to leave the deepest. Returns buf. */
const char *host_idle_states(const char *root, char *buf, size_t size_bytes, long *ret_deepest_us);

#endif
