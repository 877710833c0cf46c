#include "base/text.h"
#include "exporter/exporter.h"
#include "tests/support/check_main.h"

START_TEST(formats_are_found)
{
    ck_assert_str_eq(exporter_by_path("out.json")->name, "speedscope");
    ck_assert_str_eq(exporter_by_path("out.txt")->name, "folded");
    ck_assert_str_eq(exporter_by_path("out.json.gz")->name, "speedscope");
    ck_assert_str_eq(exporter_by_path("out.svg")->name, "flamegraph");
    ck_assert_str_eq(exporter_by_name("raw")->name, "folded");
    ck_assert_str_eq(exporter_default()->name, "speedscope");
    ck_assert(!exporter_has_suffix(exporter_default(), "out.folded"));
    ck_assert_ptr_null(exporter_by_path("out.xml"));
    ck_assert_ptr_null(exporter_by_path("out.svg.gz")); /* no browser opens it */
    ck_assert_str_eq(exporter_by_path("out.wallspy")->name, "wallspy");
    ck_assert_ptr_null(exporter_by_path("gz"));
    ck_assert_ptr_null(exporter_by_path(".gz"));
    ck_assert_ptr_null(exporter_by_name("xml"));
}
END_TEST

START_TEST(formats_are_listed)
{
    struct text list = {0};
    exporter_add_names(&list);
    text_add(&list, "; ");
    exporter_add_suffixes(&list);
    ck_assert_str_eq(list.s,
                     "speedscope, folded (raw), firefox, pprof, flamegraph (svg) or wallspy; "
                     ".json (speedscope), .folded or .txt (folded), .firefox.json (firefox), "
                     ".pb (pprof), .svg (flamegraph), .wallspy (wallspy)");
    text_release(&list);
}
END_TEST

CHECK_MAIN("exporter", 4, formats_are_found, formats_are_listed)
