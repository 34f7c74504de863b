/* complete.c: allot --completion SHELL: a script for bash, zsh or fish. The commands are
 * those of commands.def. The options are asked of each command: its option tables are local
 * to it, so it is run with --completion, which cli_parse answers with the command's part of
 * the script. Words are those of the build that writes the script; where there are none, or
 * none fits, file names are completed. */
#include "cli/cli.h"

#include "experiments/figure.h"

#include <stdlib.h>
#include <string.h>

/* -- words -- */

static void
add(struct strbuf *b, const char *word)
{
    strbuf_printf(b, "%s%s", b->n ? " " : "", word);
}

static void
add_names(struct strbuf *b, char **names)
{
    for (size_t i = 0; names[i]; i++)
        add(b, names[i]);
    allot_names_free(names);
}

static void
add_policies(struct strbuf *b, const char *kind)
{
    const char *name, *meaning;
    for (size_t i = 0; allot_policy(kind, i, &name, &meaning); i++)
        add(b, name);
}

static void
add_workloads(struct strbuf *b)
{
    for (size_t i = 0; allot_workloads[i]; i++)
        add(b, allot_workloads[i]->name);
}

/* What an option's value may be, blank-separated; empty: anything. */
static void
value_words(struct strbuf *b, const char *option)
{
    const char *name, *meaning;
    if (!strcmp(option, "machine"))
        add_names(b, allot_machine_names());
    else if (!strcmp(option, "scheduler"))
        add_policies(b, "schedulers");
    else if (!strcmp(option, "residency"))
        add_policies(b, "residency");
    else if (!strcmp(option, "passes"))
        for (size_t i = 0; allot_pass(i, &name, &meaning); i++)
            add(b, name);
    else if (!strcmp(option, "compiler"))
        add(b, "clang nvcc");
    else if (!strcmp(option, "registers"))
        add(b, "allocated virtual");
}

/* What a command's arguments may be. */
static void
argument_words(struct strbuf *b, const char *command)
{
    static const char *const with_workloads[] = {"run", "compare", "opt", "bench"};
    for (size_t i = 0; i < sizeof with_workloads / sizeof *with_workloads; i++)
        if (!strcmp(command, with_workloads[i]))
            add_workloads(b);
    if (!strcmp(command, "paper"))
        add_names(b, figure_names());
    else if (!strcmp(command, "list"))
        add(b, "machines machine workloads policies passes settings counters ptx");
    else if (!strcmp(command, "results"))
        add(b, "list show diff export");
}

/* In single quotes, for any shell: a quote ends the text, is escaped, begins it again. */
static void
quoted(const char *s)
{
    putchar('\'');
    for (; *s; s++) {
        if (*s == '\'')
            printf("'\\''");
        else
            putchar(*s == '\n' ? ' ' : *s);
    }
    putchar('\'');
}

/* -- bash: case branches by command, in them by the option before -- */

static void
bash_head(void)
{
    printf("# Completion of allot for bash; written by allot --completion bash.\n"
           "_allot() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local words=\n    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        printf("%s ", c->name);
    printf("help --help --man --version'\n    else\n"
           "    case ${COMP_WORDS[1]} in\n");
}

static void
bash_options(const char *command, const struct cli_opt *const *tables,
             const char *arguments)
{
    printf("    %s)\n        case $prev in\n", command);
    for (const struct cli_opt *const *t = tables; *t; t++)
        for (const struct cli_opt *o = *t; o->name; o++) {
            if (!o->value)
                continue;
            struct strbuf b = {0};
            value_words(&b, o->name);
            if (o->letter)
                printf("        -%c | --%s) ", o->letter, o->name);
            else
                printf("        --%s) ", o->name);
            printf("words='%s' ;;\n", b.s ? b.s : "");
            strbuf_free(&b);
        }
    printf("        *) words='%s", arguments);
    for (const struct cli_opt *const *t = tables; *t; t++)
        for (const struct cli_opt *o = *t; o->name; o++)
            printf(" --%s", o->name);
    printf(" --help --man' ;;\n        esac ;;\n");
}

static void
bash_tail(void)
{
    printf("    esac\n    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
           "}\ncomplete -o default -F _allot allot\n");
}

/* -- zsh: the same branches, with descriptions -- */

static void
zsh_head(void)
{
    printf("#compdef allot\n# Written by allot --completion zsh.\n"
           "local -a found\nif (( CURRENT == 2 )); then\n    found=(\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        printf("        %s:", c->name);
        quoted(c->summary);
        printf("\n");
    }
    printf("    )\n    _describe -t commands command found\n    return\nfi\n"
           "case $words[2] in\n");
}

static void
zsh_options(const char *command, const struct cli_opt *const *tables,
            const char *arguments)
{
    printf("%s)\n    case $words[CURRENT-1] in\n", command);
    for (const struct cli_opt *const *t = tables; *t; t++)
        for (const struct cli_opt *o = *t; o->name; o++) {
            if (!o->value)
                continue;
            struct strbuf b = {0};
            value_words(&b, o->name);
            if (o->letter)
                printf("    -%c|--%s) ", o->letter, o->name);
            else
                printf("    --%s) ", o->name);
            if (b.n)
                printf("compadd -- %s; ", b.s);
            printf("_files; return ;;\n");
            strbuf_free(&b);
        }
    printf("    esac\n    found=(\n");
    for (const struct cli_opt *const *t = tables; *t; t++)
        for (const struct cli_opt *o = *t; o->name; o++) {
            printf("        --%s:", o->name);
            quoted(o->help);
            printf("\n");
        }
    printf("        --help:'this text'\n    )\n    _describe -o option found\n");
    if (*arguments)
        printf("    compadd -- %s\n", arguments);
    printf("    ;;\n");
}

static void
zsh_tail(void)
{
    printf("esac\n[[ $PREFIX == -* ]] || _files\n");
}

/* -- fish: a line for each command and each option -- */

static void
fish_head(void)
{
    printf("# Completion of allot for fish; written by allot --completion fish.\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        printf("complete -c allot -n __fish_use_subcommand -f -a %s -d ", c->name);
        quoted(c->summary);
        printf("\n");
    }
}

static void
fish_options(const char *command, const struct cli_opt *const *tables,
             const char *arguments)
{
    char seen[80];
    snprintf(seen, sizeof seen, "complete -c allot -n '__fish_seen_subcommand_from %s'",
             command);
    for (const struct cli_opt *const *t = tables; *t; t++)
        for (const struct cli_opt *o = *t; o->name; o++) {
            struct strbuf b = {0};
            printf("%s -l %s", seen, o->name);
            if (o->letter)
                printf(" -s %c", o->letter);
            if (o->value) {
                value_words(&b, o->name);
                printf(b.n ? " -r -a '%s'" : " -r", b.s);
            }
            printf(" -d ");
            quoted(o->help);
            printf("\n");
            strbuf_free(&b);
        }
    if (*arguments)
        printf("%s -a '%s'\n", seen, arguments);
}

static void
no_tail(void)
{
}

/* -- the shells -- */

static const struct shell {
    const char *name;
    void (*head)(void);
    void (*options)(const char *command, const struct cli_opt *const *tables,
                    const char *arguments);
    void (*tail)(void);
} shells[] = {
    {"bash", bash_head, bash_options, bash_tail},
    {"zsh", zsh_head, zsh_options, zsh_tail},
    {"fish", fish_head, fish_options, no_tail},
};

static const struct shell *
find_shell(const char *name)
{
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shells[i].name, name))
            return &shells[i];
    return NULL;
}

void
cli_complete_options(const char *shell, const struct cli_cmd *cmd,
                     const struct cli_opt *const *tables)
{
    const struct shell *s = find_shell(shell);
    struct strbuf b = {0};
    argument_words(&b, cmd->name);
    if (s)
        s->options(cmd->name, tables, b.s ? b.s : "");
    strbuf_free(&b);
}

bool
cli_complete(const char *shell)
{
    const struct shell *s = find_shell(shell);
    if (!s)
        return false;
    s->head();
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        char option[32];
        snprintf(option, sizeof option, "--completion=%s", s->name);
        char *argv[] = {(char *)(uintptr_t)c->name, option, NULL};
        c->run(2, argv);
    }
    s->tail();
    return true;
}
