#include "exporter/findings_block.h"

#include "exporter/json.h"

static void write_finding(struct json *j, const struct finding *f)
{
    json_newline(j);
    json_object(j);
    json_string_field(j, "rule", f->rule);
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
        write_finding(&j, f->printed[i]);
    json_end_array(&j);
    return json_finish(&j);
}
