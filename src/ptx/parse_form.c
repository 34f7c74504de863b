/* parse_form.c: mnemonic and suffixes -> opcode row, types, modifiers.
 *
 * A suffix is a type or a modifier; the row is the first of the mnemonic that admits the
 * types written, takes every modifier written, and has every modifier it cannot do
 * without. The answer is kept under the spelling, so that each spelling is analysed once
 * a file. */
#include "ptx/parse_int.h"

#include "base/near.h"

#include <pthread.h>

#define G(g) ((ptx_groups)1 << PTX_MG_##g)

/* A row that takes one of these groups means nothing without it. */
static const ptx_groups always_needed =
    G(CMP) | G(ATOMOP) | G(SHFL) | G(VOTE) | G(TESTP) | G(LR) | G(SHIFT) | G(PART) |
    G(WIDE) | G(WARP) | G(RED) | G(MATCH) | G(LEVEL) | G(IDX) | G(GEOM) | G(COMP) |
    G(QUERY) | G(SUFORM) | G(SUCLAMP) | G(ASYNC) | G(CPOP) | G(CPMB) | G(CPDST) |
    G(CPSRC) | G(MBINIT) | G(MBARRIVE) | G(MBTX) | G(MBWAIT) | G(MBPEND) | G(POLICY) |
    G(PROXY) | G(PROXYK) | G(MBFENCE) | G(WLOAD) | G(WSTORE) | G(WMMA) | G(MATRIX) |
    G(SHAPE) | G(SP) | G(PACK) | G(MMAKIND) | G(BLOCKSCALE) | G(SCALETYPE) | G(WGOP) |
    G(WGMMA) | G(WGSHAPE) | G(MAXNREG);

/* -- rows, taken apart once -- */

enum { HASH_SLOTS = 1024, MAX_WORDS = 32 };

static struct row rows[PTX_NOPS];
static int16_t first_row[HASH_SLOTS]; /* open addressing by mnemonic; -1: empty */
static pthread_once_t rows_once = PTHREAD_ONCE_INIT;

static uint32_t
hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ h >> 15;
}

static void
split_types(struct row *r)
{
    for (const char *s = r->info->types; *s;) {
        size_t n = strcspn(s, " /");
        r->types[r->ntypes] |= (uint64_t)1 << ptx_type_find(s, n);
        s += n;
        if (!*s || *s == '/')
            r->ntypes++;
        if (*s)
            s++;
    }
}

static void
split_operands(struct row *r)
{
    const char *s = r->info->operands;
    r->open = *s == '*';
    r->prefix = r->open ? s + 1 : NULL;
    while (*s && !r->open) {
        struct slot *x = &r->slot[r->nslots++];
        x->type = NO_TYPE;
        x->letter = *s++;
        if (*s >= '0' && *s <= '3')
            x->type = (uint8_t)(*s++ - '0');
        if (*s == 'w' || *s == 'h')
            x->width = *s++;
        if (*s == '?') {
            x->optional = true;
            s++;
        }
        r->nrequired += !x->optional;
        if (*s == '|' && r->nslots < MAX_SLOTS)
            r->slot[r->nslots].joined = true;
        if (*s)
            s++;
    }
}

static void
init_rows(void)
{
    memset(first_row, -1, sizeof first_row);
    int16_t last[HASH_SLOTS];
    for (int i = 0; i < PTX_NOPS; i++) {
        struct row *r = &rows[i];
        r->info = &ptx_ops[i];
        r->next = -1;
        ptx_groups g = r->info->groups;
        r->required = g & always_needed;
        if (i == PTX_OP_WGMMA) /* dense ones beside sparse ones */
            r->required &= ~G(SP);
        if (g & G(SYNC) && !(g & (G(SHFL) | G(VOTE))))
            r->any_of = G(SYNC) | (g & G(ARRIVE));
        if (g & G(PREC))
            r->any_of = g & (G(PREC) | G(RND));
        if (i == PTX_OP_FMAF2 || i == PTX_OP_FMAMIXED || i == PTX_OP_FMAF ||
            i == PTX_OP_FMAD || i == PTX_OP_FMAH || i == PTX_OP_FMAH2 ||
            i == PTX_OP_FMAB2 || i == PTX_OP_DIVD || i == PTX_OP_SQRTD)
            r->required |= G(RND);
        if (i == PTX_OP_CVTA || i == PTX_OP_ISSPACEP)
            r->required |= G(SPACE);
        if (i == PTX_OP_MEMBAR || i == PTX_OP_FENCE)
            r->required |= G(SCOPE);
        if (i == PTX_OP_LOP3P)
            r->required |= G(BOOL);
        if (i == PTX_OP_MINRELU || i == PTX_OP_MAXRELU)
            r->required |= G(RELU);
        if (i == PTX_OP_ADDCC || i == PTX_OP_SUBCC || i == PTX_OP_MADCC)
            r->required |= G(CC);
        split_types(r);
        split_operands(r);
        if (r->info->flags & PTX_PSEUDO)
            continue;
        const char *mn = r->info->mnemonic;
        uint32_t j = hash(mn, strlen(mn)) & (HASH_SLOTS - 1);
        while (first_row[j] >= 0 && strcmp(rows[first_row[j]].info->mnemonic, mn))
            j = (j + 1) & (HASH_SLOTS - 1);
        if (first_row[j] < 0)
            first_row[j] = (int16_t)i;
        else
            rows[last[j]].next = (int16_t)i;
        last[j] = (int16_t)i;
    }
}

static int
find_first(const char *s, size_t n)
{
    pthread_once(&rows_once, init_rows);
    uint32_t j = hash(s, n) & (HASH_SLOTS - 1);
    for (; first_row[j] >= 0; j = (j + 1) & (HASH_SLOTS - 1)) {
        const char *mn = rows[first_row[j]].info->mnemonic;
        if (!strncmp(mn, s, n) && !mn[n])
            return first_row[j];
    }
    return -1;
}

bool
parse_known_mnemonic(const char *s, size_t n)
{
    return find_first(s, n) >= 0;
}

/* -- one spelling -- */

struct word {
    const char *s; /* without the dot */
    uint32_t n;
    unsigned type; /* 0: not a type */
    bool known;    /* a type or a modifier of any instruction */
};

struct spelling {
    const char *text;
    uint32_t mnemonic; /* its length */
    struct word word[MAX_WORDS];
    unsigned n;
};

static bool
is_mod(const struct word *w, unsigned m)
{
    unsigned n, k;
    if (m == PTX_WGSHAPE_M64)
        return w->n > 4 && !memcmp(w->s, "m64n", 4) &&
               ptx_wgmma_shape(w->s, w->n, &n, &k);
    return !strncmp(ptx_mods[m].text, w->s, w->n) && !ptx_mods[m].text[w->n];
}

/* Behind the bracket that closes the one before g. */
static const char *
behind_bracket(const char *g)
{
    for (unsigned depth = 1; depth; g++) {
        depth += *g == '[' || *g == '(';
        depth -= *g == ']' || *g == ')';
    }
    return g;
}

/* Do the suffixes, s up to end, fit the pattern (opcodes.def, SUFFIXES)? Its alternatives are
 * tried one after another: they are few, and each spelling is looked at once a file. */
static bool
fits_pattern(const char *g, const char *s, const char *end)
{
    char with[512]; /* an alternative and what follows */
    while (*g) {
        if (*g != '[' && *g != '(') {
            if (s == end || *g++ != *s++)
                return false;
            continue;
        }
        const bool option = *g++ == '[';
        const char *after = behind_bracket(g);
        while (g < after) {
            const char *stop = g;
            while (stop < after - 1 && (option || *stop != '|'))
                stop = *stop == '[' || *stop == '(' ? behind_bracket(stop + 1) : stop + 1;
            snprintf(with, sizeof with, "%.*s%s", (int)(stop - g), g, after);
            if (fits_pattern(with, s, end))
                return true;
            g = stop + 1;
        }
        if (!option)
            return false;
        g = after;
    }
    return s == end;
}

/* The words that are types, where the row's pattern has the others. */
static bool
fit_pattern(const struct row *r, const struct spelling *sp, struct ptx_inst *in)
{
    const struct word *last = sp->n ? &sp->word[sp->n - 1] : NULL;
    if (!last || !fits_pattern(ptx_suffixes[in->op], sp->word[0].s, last->s + last->n))
        return false;
    for (unsigned i = 0; i < sp->n; i++) {
        const unsigned t = sp->word[i].type;
        if (t && in->ntypes < r->ntypes && r->types[in->ntypes] >> t & 1)
            in->type[in->ntypes++] = (uint8_t)t;
    }
    return in->ntypes == r->ntypes;
}

/* Fits the words to the row. On failure *bad is the first word the row does not take, or
 * -1 where the row misses something, and *missing the groups it misses. */
static bool
fit(const struct row *r, const struct spelling *sp, struct ptx_inst *in, uint16_t *mods,
    int *bad, ptx_groups *missing)
{
    memset(in, 0, sizeof *in);
    memset(mods, 0, PTX_NMODGROUPS * sizeof *mods);
    in->op = (uint16_t)(r - rows);
    in->guard = -1;
    in->mod = mods;
    *missing = 0;
    *bad = -1;
    ptx_groups have = 0;
    if (ptx_suffixes[in->op]) {
        *bad = 0; /* not the row to speak of what is wrong */
        return fit_pattern(r, sp, in);
    }
    for (unsigned i = 0; i < sp->n; i++) {
        const struct word *w = &sp->word[i];
        bool taken = false;
        if (w->type) {
            taken = in->ntypes < r->ntypes && r->types[in->ntypes] >> w->type & 1;
            if (taken)
                in->type[in->ntypes++] = (uint8_t)w->type;
        }
        for (unsigned m = 1; m < PTX_NMODS && !w->type && !taken; m++) {
            unsigned g = ptx_mods[m].group;
            if (!(r->info->groups >> g & 1) || mods[g] || !is_mod(w, m))
                continue;
            mods[g] = (uint16_t)m;
            have |= (ptx_groups)1 << g;
            taken = true;
        }
        if (!taken) {
            *bad = (int)i;
            return false;
        }
    }
    if (in->ntypes != r->ntypes)
        return false;
    *missing = r->required & ~have;
    if (r->any_of && !(r->any_of & have))
        *missing |= r->any_of;
    return !*missing;
}

/* Is the word, of n characters, among the suffixes? One that ends in :: begins one of them. */
static bool
has_word(const struct spelling *sp, const char *s, size_t n)
{
    bool begins = n > 2 && s[n - 1] == ':';
    for (unsigned i = 0; i < sp->n; i++)
        if ((sp->word[i].n == n || (begins && sp->word[i].n > n)) &&
            !memcmp(sp->word[i].s, s, n))
            return true;
    return false;
}

/* Is this a row for such suffixes? Its pattern: opcodes.def, LATER. */
static bool
fits_open(const struct row *r, const struct spelling *sp, uint32_t n)
{
    size_t k = strcspn(r->prefix, "+"), have = n - sp->mnemonic;
    const char *s = sp->text + sp->mnemonic + 1;
    if (k && !(have > k && !strncmp(s, r->prefix, k) &&
               (have == k + 1 || s[k] == '.' || s[k] == ':')))
        return false;
    for (const char *w = r->prefix + k; *w; w += k) {
        k = strcspn(++w, "+");
        if (!has_word(sp, w, k))
            return false;
    }
    return true;
}

static struct place
word_place(const struct parser *p, const struct spelling *sp, const struct word *w,
           struct place start)
{
    /* Suffixes that stand apart were copied: the whole is marked then. */
    if (sp->text >= p->m->text && sp->text < p->last_end)
        return (struct place){start.line, start.col + (uint32_t)(w->s - sp->text) - 1,
                              w->n + 1};
    return start;
}

static void
list_types(const struct row *r, struct strbuf *b)
{
    for (; r; r = r->next >= 0 ? &rows[r->next] : NULL)
        for (unsigned k = 0; k < r->ntypes; k++)
            for (unsigned t = 1; t < PTX_NTYPES; t++) {
                char word[24];
                snprintf(word, sizeof word, " .%s", ptx_types[t].text);
                if (!(r->types[k] >> t & 1))
                    continue;
                const char *found = b->s ? strstr(b->s, word) : NULL;
                if (!found || (found[strlen(word)] && found[strlen(word)] != ' '))
                    strbuf_addz(b, word);
            }
}

static void
hint_modifier(struct parser *p, struct diag *d, const struct row *first,
              const struct word *w)
{
    char text[40];
    if (w->n >= sizeof text)
        return;
    memcpy(text, w->s, w->n);
    text[w->n] = 0;
    struct near near = {.word = text, .most = 2};
    for (const struct row *r = first; r; r = r->next >= 0 ? &rows[r->next] : NULL) {
        for (unsigned m = 1; m < PTX_NMODS; m++) {
            if (!(r->info->groups >> ptx_mods[m].group & 1))
                continue;
            near_offer(&near, ptx_mods[m].text);
        }
        for (unsigned t = 1; t < PTX_NTYPES; t++) {
            bool takes = false;
            for (unsigned k = 0; k < r->ntypes; k++)
                takes |= r->types[k] >> t & 1;
            if (takes)
                near_offer(&near, ptx_types[t].text);
        }
    }
    if (near.best && w->n > 1)
        parse_hint(p, d, "did you mean '.%s'?", near.best);
}

static void
hint_group(struct parser *p, struct diag *d, ptx_groups groups)
{
    struct strbuf b = {0};
    int n = 0;
    for (unsigned m = 1; m < PTX_NMODS; m++)
        if (groups >> ptx_mods[m].group & 1 && n++ < 12)
            strbuf_printf(&b, " .%s", ptx_mods[m].text);
    if (b.s)
        parse_hint(p, d, "it needs one of%s", b.s);
    strbuf_free(&b);
}

/* Explains why no row fits. */
static void
complain(struct parser *p, const struct spelling *sp, const struct row *first,
         struct place start)
{
    int mn = (int)sp->mnemonic;
    const char *s = sp->text;
    for (unsigned i = 0; i < sp->n; i++) {
        const struct word *w = &sp->word[i];
        if (w->known)
            continue;
        struct diag *d = parse_error(p, word_place(p, sp, w, start),
                                     "unknown modifier '.%.*s' of '%.*s'",
                                     (int)(w->n > 60 ? 60 : w->n), w->s, mn, s);
        hint_modifier(p, d, first, w);
        return;
    }
    /* The row that gets furthest speaks. */
    const struct row *best = NULL;
    int best_bad = -2;
    ptx_groups best_missing = 0;
    struct ptx_inst in;
    uint16_t mods[PTX_NMODGROUPS];
    for (const struct row *r = first; r; r = r->next >= 0 ? &rows[r->next] : NULL) {
        int bad;
        ptx_groups missing;
        if (r->open)
            continue;
        fit(r, sp, &in, mods, &bad, &missing);
        int reach = bad < 0 ? MAX_WORDS + (missing != 0) : bad;
        if (reach > best_bad) {
            best = r;
            best_bad = reach;
            best_missing = missing;
        }
    }
    struct diag *d;
    if (!best) { /* each row is open, and none for suffixes that begin so */
        d = parse_error(p, start, "'%.*s' does not have such suffixes", mn, s);
        struct strbuf b = {0};
        for (const struct row *r = first; r; r = r->next >= 0 ? &rows[r->next] : NULL)
            if (*r->prefix && *r->prefix != '+')
                strbuf_printf(&b, " .%.*s", (int)strcspn(r->prefix, "+"), r->prefix);
        if (b.s)
            parse_hint(p, d, "it needs one of%s", b.s);
        strbuf_free(&b);
        return;
    }
    if (best_bad > MAX_WORDS) {
        d = parse_error(p, start, "'%.*s' is incomplete", mn, s);
        hint_group(p, d, best_missing);
        return;
    }
    if (best_bad == MAX_WORDS) {
        unsigned have = 0;
        for (unsigned i = 0; i < sp->n; i++)
            have += sp->word[i].type != 0;
        d = parse_error(p, start, "'%.*s' takes %u type%s here, %u written", mn, s,
                        best->ntypes, best->ntypes == 1 ? "" : "s", have);
        struct strbuf b = {0};
        list_types(best, &b);
        if (b.s)
            parse_hint(p, d, "types:%s", b.s);
        strbuf_free(&b);
        return;
    }
    const struct word *w = &sp->word[best_bad];
    struct place where = word_place(p, sp, w, start);
    if (w->type) {
        d = parse_error(p, where, "'%.*s' does not take type .%.*s%s", mn, s, (int)w->n,
                        w->s, best_bad && sp->n > 1 ? " with these modifiers" : "");
        struct strbuf b = {0};
        list_types(first, &b);
        if (b.s)
            parse_hint(p, d, "types of '%.*s':%s", mn, s, b.s);
        else
            parse_hint(p, d, "'%.*s' has no type", mn, s);
        strbuf_free(&b);
        return;
    }
    for (unsigned m = 1; m < PTX_NMODS; m++) {
        unsigned g = ptx_mods[m].group;
        if (!is_mod(w, m) || !(best->info->groups >> g & 1))
            continue;
        for (int i = 0; i < best_bad; i++)
            for (unsigned k = 1; k < PTX_NMODS; k++)
                if (ptx_mods[k].group == g && is_mod(&sp->word[i], k)) {
                    parse_error(
                        p, where, "'.%.*s' and '.%.*s' cannot stand together in '%.*s'",
                        (int)sp->word[i].n, sp->word[i].s, (int)w->n, w->s, mn, s);
                    return;
                }
    }
    d = parse_error(p, where, "'%.*s' does not take '.%.*s'%s", mn, s, (int)w->n, w->s,
                    best_bad ? " with the suffixes before it" : "");
    hint_modifier(p, d, first, w);
}

static bool
split(struct parser *p, struct spelling *sp, const char *text, uint32_t n,
      struct place start)
{
    sp->text = text;
    sp->mnemonic = 0;
    sp->n = 0;
    while (sp->mnemonic < n && text[sp->mnemonic] != '.')
        sp->mnemonic++;
    for (uint32_t i = sp->mnemonic; i < n;) {
        uint32_t k = ++i;
        while (i < n && text[i] != '.')
            i++;
        if (sp->n == MAX_WORDS) {
            parse_error(p, start, "too many suffixes");
            return false;
        }
        struct word *w = &sp->word[sp->n++];
        *w = (struct word){text + k, i - k, 0, false};
        if (w->n > 6 && !memcmp(w->s, "const[", 6))
            w->n = 5; /* old constant banks: there is one bank now */
        w->type = ptx_type_find(w->s, w->n);
        w->known = w->type;
        for (unsigned m = 1; m < PTX_NMODS && !w->known; m++)
            w->known = is_mod(w, m);
    }
    return true;
}

/* cvt: which conversions need a rounding mode, and which one (PTX ISA 9.7.9.21). */
static bool
check_cvt(struct parser *p, const struct ptx_inst *in, struct place start)
{
    static const char *const integer = ".rni .rzi .rmi .rpi", *const floating =
                                                                  ".rn .rz .rm .rp";
    const struct ptx_type_info *d = &ptx_types[in->type[0]], *s = &ptx_types[in->type[1]];
    unsigned rnd = in->mod[PTX_MG_RND];
    bool df = d->kind == PTX_K_FLT, sf = s->kind == PTX_K_FLT;
    bool is_int = rnd >= PTX_RND_RNI && rnd <= PTX_RND_RPI;
    bool old = p->m->version_major < 2 && p->m->version_minor < 4;
    const char *needs = NULL;
    if (sf && !df)
        needs = !is_int ? integer : NULL;
    else if (!sf && df)
        needs = !rnd || is_int ? floating : NULL;
    else if (sf && df && d->bytes < s->bytes)
        needs = !rnd || is_int ? floating : NULL;
    if (needs && !old) {
        struct diag *x =
            parse_error(p, start, "cvt from .%s to .%s needs %s rounding mode", s->text,
                        d->text, rnd ? "another" : "a");
        parse_hint(p, x, "one of %s", needs);
        return false;
    }
    if (rnd && (!sf && !df)) {
        parse_error(p, start, "cvt from .%s to .%s does not round", s->text, d->text);
        return false;
    }
    return true;
}

static const struct form *
resolve(struct parser *p, const char *text, uint32_t n, struct place start)
{
    uint32_t h = hash(text, n), j = 0;
    if (p->form_slots) {
        j = h & (p->form_slots - 1);
        for (; p->forms[j]; j = (j + 1) & (p->form_slots - 1)) {
            const struct form *f = p->forms[j];
            if (f->hash == h && f->n == n && !memcmp(f->s, text, n))
                return f;
        }
    }
    struct spelling sp;
    if (!split(p, &sp, text, n, start))
        return NULL;
    int first = find_first(text, sp.mnemonic);
    struct place mn = {start.line, start.col, sp.mnemonic};
    if (first < 0) {
        struct diag *d = parse_error(p, mn, "unknown instruction '%.*s'",
                                     (int)(sp.mnemonic > 60 ? 60 : sp.mnemonic), text);
        char word[32];
        struct near near = {.word = word, .most = sp.mnemonic < 5 ? 1 : 2};
        if (sp.mnemonic < sizeof word && p->errors < 100) {
            memcpy(word, text, sp.mnemonic);
            word[sp.mnemonic] = 0;
            for (int i = 0; i < PTX_NOPS; i++) {
                if (ptx_ops[i].flags & PTX_PSEUDO)
                    continue;
                near_offer(&near, ptx_ops[i].mnemonic);
            }
        }
        if (near.best)
            parse_hint(p, d, "did you mean '%s'?", near.best);
        return NULL;
    }
    struct ptx_inst in;
    const struct row *r = &rows[first];
    int bad;
    ptx_groups missing;
    uint16_t mods[PTX_NMODGROUPS];
    while (r &&
           !(r->open ? fits_open(r, &sp, n) : fit(r, &sp, &in, mods, &bad, &missing)))
        r = r->next >= 0 ? &rows[r->next] : NULL;
    if (!r) {
        struct place whole = {start.line, start.col, n};
        complain(p, &sp, &rows[first], whole);
        return NULL;
    }
    if (r->open) {
        memset(&in, 0, sizeof in);
        in.op = (uint16_t)(r - rows);
        in.guard = -1;
        in.mod = ptx_no_mods;
    } else if (in.op >= PTX_OP_CVTII && in.op <= PTX_OP_CVTFF &&
               !check_cvt(p, &in, (struct place){start.line, start.col, n})) {
        return NULL;
    }
    if (!r->open)
        in.mod = arena_dup(&p->m->mem, mods, sizeof mods);
    if (r->open || r->info->flags & PTX_VERBATIM)
        in.text = arena_strndup(&p->m->mem, text + sp.mnemonic, n - sp.mnemonic);
    if (p->nforms * 2 >= p->form_slots) {
        uint32_t slots = p->form_slots ? p->form_slots * 2 : 256;
        struct form **table = xcalloc(slots, sizeof(struct form *));
        for (uint32_t i = 0; i < p->form_slots; i++) {
            if (!p->forms[i])
                continue;
            uint32_t k = p->forms[i]->hash & (slots - 1);
            while (table[k])
                k = (k + 1) & (slots - 1);
            table[k] = p->forms[i];
        }
        free(p->forms);
        p->forms = table;
        p->form_slots = slots;
    }
    j = h & (p->form_slots - 1);
    while (p->forms[j])
        j = (j + 1) & (p->form_slots - 1);
    struct form *f = ARENA_NEW(&p->mem, struct form);
    f->s = arena_strndup(&p->mem, text, n);
    f->n = n;
    f->hash = h;
    f->proto = in;
    f->row = r;
    p->forms[j] = f;
    p->nforms++;
    return f;
}

const struct form *
parse_form(struct parser *p)
{
    struct place start = here(p);
    const char *s = p->tok.s;
    const char *end = ptx_lex_suffixes(&p->lex);
    uint32_t n = (uint32_t)(end - s);
    p->tok.n = n;
    parse_next(p);
    if (!at(p, T_DOT))
        return resolve(p, s, n, start);
    /* Suffixes that stand apart: "setp.eq .u32". */
    struct strbuf b = {0};
    strbuf_add(&b, s, n);
    while (at(p, T_DOT)) {
        strbuf_add(&b, p->tok.s, p->tok.n);
        parse_next(p);
    }
    const char *joined = arena_strndup(&p->mem, b.s, b.n);
    const struct form *f = resolve(p, joined, (uint32_t)b.n, start);
    strbuf_free(&b);
    return f;
}

const struct row *
parse_longer_row(const struct form *f)
{
    ptx_groups have = 0;
    for (unsigned g = 0; g < PTX_NMODGROUPS; g++)
        have |= f->proto.mod[g] ? (ptx_groups)1 << g : 0;
    for (int i = f->row->next; i >= 0; i = rows[i].next)
        if (rows[i].nslots > f->row->nslots && rows[i].ntypes == f->row->ntypes &&
            !memcmp(rows[i].types, f->row->types, sizeof rows[i].types) &&
            !(have & ~rows[i].info->groups) && !(rows[i].required & ~have))
            return &rows[i];
    return NULL;
}
