/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_STATUS_H
#define TARE_GRPC_STATUS_H

/* The canonical status codes of gRPC, which P4Runtime uses for its errors too. */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
	GRPC_STATUSES = 17
};

/* "NOT_FOUND"; "status 99" is the caller's to print: NULL for a code there is not. */
const char *grpc_status_name(int status);

#endif
