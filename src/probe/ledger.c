/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/ledger.h"

#include <stddef.h>

bool ledger_balances(const struct ledger *l)
{
	uint64_t fates = 0;

	for (int i = 0; i < FATES; i++)
		fates += l->fate[i];
	return fates == l->sent && l->arrived == l->classified;
}

void ledger_add(struct ledger *sum, const struct ledger *l)
{
	sum->sent += l->sent;
	for (int i = 0; i < FATES; i++)
		sum->fate[i] += l->fate[i];
	sum->duplicates += l->duplicates;
	sum->reordered += l->reordered;
	sum->foreign += l->foreign;
	sum->set_apart += l->set_apart;
	sum->arrived += l->arrived;
	sum->classified += l->classified;
}

const char *fate_name(enum fate fate)
{
	static const char *const names[FATES] = {
		[FATE_MATCHED] = "matched",   [FATE_LOST] = "lost",         [FATE_LATE] = "late",
		[FATE_UNPARSED] = "unparsed", [FATE_SHADOWED] = "shadowed", [FATE_UNSTAMPED] = "unstamped",
	};

	return (unsigned)fate < FATES ? names[fate] : NULL;
}
