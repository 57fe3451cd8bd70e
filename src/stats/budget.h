/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_BUDGET_H
#define TARE_STATS_BUDGET_H

#include <stddef.h>
#include <stdint.h>

/*
 * An uncertainty budget after the GUM (JCGM 100:2008): independent terms, each with its standard uncertainty
 * and degrees of freedom; combined in quadrature, effective degrees of freedom after Welch and Satterthwaite
 * (G.4.1). The expanded uncertainties "k=2" and "k=3" have the coverage that 2 and 3 standard deviations have
 * for a normal distribution, 95.45 % and 99.73 %: with few degrees of freedom the factor is Student's (G.3.2:
 * 2.65 and 5.51 for 5), which goes to 2 and 3 as they grow.
 */
enum uncertainty_type { UNCERTAINTY_A, UNCERTAINTY_B };
enum uncertainty_shape { SHAPE_STUDENT, SHAPE_NORMAL, SHAPE_RECTANGULAR, SHAPE_TRIANGULAR };

struct budget_term {
	const char *name; /* "between blocks" */
	enum uncertainty_type type;
	enum uncertainty_shape shape;
	double bound_ns;    /* half-width that u was made from (rectangular, triangular); else 0 */
	double u_ns;        /* standard uncertainty, times its sensitivity */
	double dof;         /* INFINITY: taken as known */
	const char *source; /* one line: where the number comes from */
};

#define BUDGET_TERMS 8

struct budget {
	struct budget_term terms[BUDGET_TERMS];
	uint32_t count;
	double u_ns; /* combined */
	double dof;  /* effective */
	double factor_k2, factor_k3;
	double expanded_k2_ns, expanded_k3_ns;
};

/*
 * Texts must outlive the budget. Half-width to standard uncertainty: rectangular over sqrt 3, triangular over
 * sqrt 6.
 */
void budget_add(struct budget *b, const char *name, enum uncertainty_type type, enum uncertainty_shape shape,
		double u_ns, double dof, const char *source);
void budget_add_bound(struct budget *b, const char *name, enum uncertainty_shape shape, double half_width_ns,
		      const char *source);
void budget_combine(struct budget *b);

/* Share of the combined variance that a term has, 0 to 1. */
double budget_share(const struct budget *b, uint32_t term);

/* Half-width of the interval at this confidence: Student's t times u. */
double budget_half_width(const struct budget *b, double confidence);

const char *uncertainty_type_name(enum uncertainty_type type);    /* "A", "B" */
const char *uncertainty_shape_name(enum uncertainty_shape shape); /* "rectangular" */

#endif
