/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <string.h>

#include "cli/options.h"

/* Help texts stand in single quotes: a quote in them ends the string, adds an escaped one and goes on. */
static void quoted(FILE *out, const char *text, const char *escape)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr(escape, *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void words(FILE *out, const struct setting *table, bool json)
{
	for (const struct setting *s = table; s && s->name; s++)
		if (json || strcmp(s->name, "json") != 0)
			fprintf(out, " --%s%s", s->name, s->type == SETTING_FLAG ? "" : "=");
}

static void bash_write(FILE *out)
{
	fputs("# bash completion for tare\n_tare()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} verb= i\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tcase ${COMP_WORDS[i]} in -*) ;; *) verb=${COMP_WORDS[i]}; break ;; esac\n\tdone\n"
	      "\tlocal words=\n\tcase $verb in\n\t'') words='",
	      out);
	for (const struct verb *const *v = verbs; *v; v++)
		fprintf(out, "%s%s", v == verbs ? "" : " ", (*v)->name);
	words(out, global_options, true);
	fputs("' ;;\n", out);
	for (const struct verb *const *v = verbs; *v; v++) {
		fprintf(out, "\t%s) words='", (*v)->name);
		words(out, (*v)->options, true);
		words(out, global_options, (*v)->json);
		fputs("' ;;\n", out);
	}
	fputs("\tesac\n\tCOMPREPLY=()\n\tif [[ $cur == -* || -z $verb ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	      "\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n\tfi\n"
	      "\tif [[ ${#COMPREPLY[@]} -eq 0 && -n $verb ]]; then\n\t\tcompopt -o filenames\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\tfi\n}\ncomplete -F _tare tare\n",
	      out);
}

static void zsh_options(FILE *out, const struct setting *table, bool json)
{
	for (const struct setting *s = table; s && s->name; s++) {
		if (!json && strcmp(s->name, "json") == 0)
			continue;
		fprintf(out, " \\\n\t\t\t'--%s%s[", s->name, s->type == SETTING_FLAG ? "" : "=");
		quoted(out, s->help, "[]:");
		fputc(']', out);
		if (s->type == SETTING_CHOICE) {
			fprintf(out, ":%s:(", option_value_name(s));
			for (unsigned i = 0; s->choices[i]; i++)
				fprintf(out, "%s%s", i ? " " : "", s->choices[i]);
			fputc(')', out);
		} else if (s->type != SETTING_FLAG) {
			fprintf(out, ":%s:_files", option_value_name(s));
		}
		fputc('\'', out);
	}
}

static void zsh_write(FILE *out)
{
	fputs("#compdef tare\n_tare() {\n\tlocal -a verbs\n\tverbs=(\n", out);
	for (const struct verb *const *v = verbs; *v; v++) {
		fprintf(out, "\t\t'%s:", (*v)->name);
		quoted(out, (*v)->summary, ":");
		fputs("'\n", out);
	}
	fputs("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe verb verbs\n\t\t_arguments", out);
	zsh_options(out, global_options, true);
	fputs("\n\t\treturn\n\tfi\n\tcase $words[2] in\n", out);
	for (const struct verb *const *v = verbs; *v; v++) {
		fprintf(out, "\t%s)\n\t\t_arguments", (*v)->name);
		zsh_options(out, (*v)->options, true);
		zsh_options(out, global_options, (*v)->json);
		fputs(" \\\n\t\t\t'*:argument:_files'\n\t\t;;\n", out);
	}
	fputs("\tesac\n}\n_tare \"$@\"\n", out);
}

static void fish_options(FILE *out, const struct setting *table, const char *condition, bool json)
{
	for (const struct setting *s = table; s && s->name; s++) {
		if (!json && strcmp(s->name, "json") == 0)
			continue;
		fprintf(out, "complete -c tare%s -l %s", condition, s->name);
		if (s->short_name)
			fprintf(out, " -s %c", s->short_name);
		if (s->type == SETTING_CHOICE) {
			fputs(" -x -a '", out);
			for (unsigned i = 0; s->choices[i]; i++)
				fprintf(out, "%s%s", i ? " " : "", s->choices[i]);
			fputc('\'', out);
		} else if (s->type != SETTING_FLAG) {
			fputs(" -r", out);
		}
		fputs(" -d '", out);
		for (const char *p = s->help; *p; p++)
			fprintf(out, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
		fputs("'\n", out);
	}
}

static void fish_write(FILE *out)
{
	fputs("# fish completion for tare\n", out);
	for (const struct verb *const *v = verbs; *v; v++)
		fprintf(out, "complete -c tare -n __fish_use_subcommand -f -a %s -d '%s'\n", (*v)->name, (*v)->summary);
	for (const struct verb *const *v = verbs; *v; v++) {
		char condition[96];

		snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'", (*v)->name);
		fish_options(out, (*v)->options, condition, true);
	}
	fish_options(out, global_options, "", true);
}

bool completion_write(FILE *out, const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		bash_write(out);
	else if (strcmp(shell, "zsh") == 0)
		zsh_write(out);
	else if (strcmp(shell, "fish") == 0)
		fish_write(out);
	else
		return false;
	return true;
}
