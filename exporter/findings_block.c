#include "exporter/findings_block.h"

#include "base/clock.h"
#include "base/share.h"
#include "exporter/json.h"
#include "summary/path_words.h"
#include "summary/wait_text.h"

static void write_place(struct json *j, const char *key, const struct call_path *path)
{
    struct text words = {0};
    if (path->node)
        add_way(&words, path);
    json_string_field(j, key, words.s);
    text_release(&words);
}

/* Who is on the other side of the wait that ROW ends in; else whom the leader waits for. */
static void write_blocker(struct json *j, const struct ledger *l, const struct ledger_row *row)
{
    struct text words = {0};
    if (row->other_ns && wait_side_is_told(&row->other))
        wait_side_add_text(&words, l->p, &row->other, row->waiter, false);
    else if (row->way != LEDGER_OWN)
        text_add(&words, row->group->noun);
    json_string_field(j, "blocker", words.s);
    text_release(&words);
}

/* What F speaks of, as far as the leader's time ends there. */
static void write_row(struct json *j, const struct ledger *l, const struct finding *f)
{
    static const char *const ways[LEDGER_WAYS] = {
        [LEDGER_OWN] = "own", [LEDGER_READ] = "read", [LEDGER_MEANWHILE] = "meanwhile"};
    const struct ledger_row *row = f->row;
    json_string_field(j, "cause", cause_name(row->cause));
    json_string_field(j, "group", row->group->noun);
    write_place(j, "place", &row->place);
    write_place(j, "waits", &row->waits);
    write_blocker(j, l, row);
    json_string_field(j, "way", ways[row->way]);
    json_number_field(j, "seconds", (double)f->ends_ns / NS_PER_S / (double)l->leader->n_threads);
    json_number_field(j, "ends", share_of(f->ends_ns, l->wall_ns - l->idle_ns));
    if (json_known(j, "bound", row->bound_ns != 0))
        json_number(j, share_of(row->bound_ns, l->wall_ns - l->idle_ns));
}

static void write_finding(struct json *j, const struct ledger *l, const struct finding *f)
{
    json_newline(j);
    json_object(j);
    json_string_field(j, "rule", f->rule);
    json_string_field(j, "about", f->about);
    if (f->row)
        write_row(j, l, f);
    json_number_field(j, "explains", f->explains);
    json_key(j, "figures");
    json_object(j);
    for (size_t i = 0; i < f->n_figures; i++) {
        json_key(j, f->figures[i].name);
        json_number(j, f->figures[i].value);
    }
    json_end_object(j);
    json_string_field(j, "words", f->words);
    json_end_object(j);
}

int findings_block_write(const struct findings *f, FILE *out)
{
    struct json j = {.out = out};
    json_array(&j);
    for (size_t i = 0; i < f->n_printed; i++)
        write_finding(&j, &f->ledger, f->printed[i]);
    json_end_array(&j);
    return json_finish(&j);
}
