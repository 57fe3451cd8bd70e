/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_OPERATION_H
#define TARE_STORE_OPERATION_H

#include "probe/control.h"
#include "store/store.h"

/* Runs of control plans: their account (table run_control), and a row an operation (table operation). */

/* Of the run put last in the restart that is open. */
int store_put_control(struct store *store, const struct control_account *account, const struct operation *rows,
		      uint32_t count, struct err *err);

/* False in *ret_there: the run has none. */
int store_read_account(struct store *store, const struct stored_run *run, struct control_account *ret, bool *ret_there,
		       struct err *err);

/* In order of switch and seq: all account.operations of them, which must fit `capacity`. Returns how many, or -errno. */
int64_t store_read_operations(struct store *store, const struct stored_run *run, const struct control_account *account,
			      struct operation *ret_rows, uint32_t capacity, struct err *err);

#endif
