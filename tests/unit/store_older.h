/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_STORE_OLDER_H
#define TARE_TESTS_STORE_OLDER_H

/* What each schema added, taken away again: makes a new store one of the schema before. A part of the store is a line here. */
#define STORE_WITHOUT_3                                                                                                \
	"DROP TABLE resource_subject; DROP TABLE resource_process; DROP TABLE resource_thread;"                        \
	"DROP TABLE resource_interface; DROP TABLE resource_machine; DROP TABLE transit_part;"                         \
	"DROP VIEW hop_us; DROP TABLE hop;"                                                                            \
	"DROP TABLE value;"                                                                                            \
	"DROP VIEW trial_loss; DROP TABLE trial; DROP TABLE search;"                                                   \
	"DROP VIEW operation_us; DROP TABLE operation; DROP TABLE run_control;"                                        \
	"DROP TABLE second; DROP TABLE run_second;"                                                                    \
	"PRAGMA user_version=2;"

#define STORE_WITHOUT_2                                                                                                \
	STORE_WITHOUT_3 "DROP VIEW transit_us; DROP TABLE transit; DROP TABLE run_transit; PRAGMA user_version=1;"

#endif
