/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/budget.h"

#include <math.h>

#include "base/err.h"
#include "stats/special.h"

void budget_add(struct budget *b, const char *name, enum uncertainty_type type, enum uncertainty_shape shape,
		double u_ns, double dof, const char *source)
{
	TARE_ASSERT(b->count < BUDGET_TERMS && u_ns >= 0 && dof > 0);
	b->terms[b->count++] = (struct budget_term){
		.name = name,
		.type = type,
		.shape = shape,
		.u_ns = u_ns,
		.dof = dof,
		.source = source,
	};
}

void budget_add_bound(struct budget *b, const char *name, enum uncertainty_shape shape, double half_width_ns,
		      const char *source)
{
	TARE_ASSERT(shape == SHAPE_RECTANGULAR || shape == SHAPE_TRIANGULAR);
	budget_add(b, name, UNCERTAINTY_B, shape, half_width_ns / sqrt(shape == SHAPE_RECTANGULAR ? 3 : 6), INFINITY,
		   source);
	b->terms[b->count - 1].bound_ns = half_width_ns;
}

/* Student's factor with the coverage that k standard deviations have under the normal. */
static double coverage_factor(double k, double dof)
{
	return student_quantile(normal_cdf(k), dof);
}

void budget_combine(struct budget *b)
{
	double squares = 0, fourths = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		double u2 = b->terms[i].u_ns * b->terms[i].u_ns;

		squares += u2;
		fourths += isinf(b->terms[i].dof) ? 0 : u2 * u2 / b->terms[i].dof;
	}
	b->u_ns = sqrt(squares);
	b->dof = fourths > 0 ? squares * squares / fourths : INFINITY;
	b->factor_k2 = coverage_factor(2, b->dof);
	b->factor_k3 = coverage_factor(3, b->dof);
	b->expanded_k2_ns = b->factor_k2 * b->u_ns;
	b->expanded_k3_ns = b->factor_k3 * b->u_ns;
}

double budget_share(const struct budget *b, uint32_t term)
{
	TARE_ASSERT(term < b->count);
	return b->u_ns > 0 ? b->terms[term].u_ns * b->terms[term].u_ns / (b->u_ns * b->u_ns) : 0;
}

double budget_half_width(const struct budget *b, double confidence)
{
	return b->u_ns > 0 ? student_quantile(1 - (1 - confidence) / 2, b->dof) * b->u_ns : 0;
}

const char *uncertainty_type_name(enum uncertainty_type type)
{
	return type == UNCERTAINTY_A ? "A" : "B";
}

const char *uncertainty_shape_name(enum uncertainty_shape shape)
{
	static const char *const names[] = {
		[SHAPE_STUDENT] = "Student",
		[SHAPE_NORMAL] = "normal",
		[SHAPE_RECTANGULAR] = "rectangular",
		[SHAPE_TRIANGULAR] = "triangular",
	};

	return names[shape];
}
