/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_STUDY_H
#define TARE_IMPORT_STUDY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "plan/plan.h"

/*
 * Records of the BMv2 study, sorted by what they measure: a group is the records
 * of one cell in one fresh start of the switches (file and repetition). Samples are
 * kept small: what a line of 300 bytes says takes 16 to 40 here.
 */
enum { STUDY_AXES_MOST = 6, STUDY_HOPS_MOST = 16 };

struct study_transit {
	uint32_t sequence;
	int64_t p4_in_us, p4_out_us;
};

/* One number of a record: which quantity, and how much. */
struct study_number {
	uint16_t quantity; /* in study_measure.quantities */
	double value;      /* NaN: null in the data */
};

struct study_group {
	enum measure measure;
	uint32_t file, repetition;
	const char *values[STUDY_AXES_MOST]; /* by axis of the measure */
	bool cold;                           /* transit: no carrier */
	VEC(struct study_transit) transits;
	VEC(struct study_number) numbers;
	uint32_t records;
};

/* What a measure of ours is made of. */
struct study_measure {
	const char *axes[STUDY_AXES_MOST + 1]; /* NULL-terminated */
	struct study_quantity {
		const char *name, *unit;
		enum { STUDY_MEDIAN, STUDY_MEAN, STUDY_MAX } how; /* of the run's records */
	} quantities[2 * STUDY_HOPS_MOST + 4];
};
extern const struct study_measure study_measures[MEASURES];

struct study {
	struct arena arena;
	VEC(struct study_group *) groups; /* in the order in which they appeared */
	VEC(const char *) failures;       /* "l3_lpm, repetition 0: ...": configurations that failed */
	uint64_t records;
	uint64_t unknown;          /* of metrics that are not known */
	const char *first_unknown; /* the first such metric; NULL: none */
	const char **files;
	uint32_t file_count;
	const char *path; /* of the file being read, for messages */
	uint64_t line;    /* in it */
	struct study_group *last;
};

void study_init(struct study *s);
void study_release(struct study *s);

/* One line of file `file`. An error names the line and what is wrong with it. */
int study_take_line(struct study *s, uint32_t file, const char *text, size_t length, struct err *err);

#endif
