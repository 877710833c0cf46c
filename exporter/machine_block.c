#include "exporter/machine_block.h"

static void text_or_null(struct json *j, const struct profile *p, const char *key, string_id text)
{
    json_string_field(j, key, profile_text_or_null(p, text));
}

static void write_busiest(struct json *j, const struct profile *p,
                          const struct profile_busy_process *busiest)
{
    json_key(j, "busiest");
    json_object(j);
    json_int_field(j, "pid", busiest->pid);
    text_or_null(j, p, "comm", busiest->comm);
    json_int_field(j, "cpu_ns", busiest->cpu_ns);
    json_end_object(j);
}

static void write_host(struct json *j, const struct profile *p, const struct profile_host *h)
{
    if (!h->over_ns)
        return;
    json_newline(j);
    json_key(j, "host_cpu");
    json_object(j);
    json_int_field(j, "over_ns", h->over_ns);
    json_int_field(j, "cpus_online", h->cpus_online);
    json_int_field(j, "busy_ns", h->busy_ns);
    json_int_field(j, "interrupts_ns", h->interrupts_ns);
    json_int_field(j, "stolen_ns", h->stolen_ns);
    json_int_field(j, "wallspy_ns", h->wallspy_ns);
    json_int_field(j, "recorded_ns", h->recorded_ns);
    json_int_field(j, "others_ns", h->others_ns);
    json_int_field(j, "processes_seen", h->processes_seen);
    json_bool_field(j, "all_processes_seen", h->all_processes_seen);
    if (h->busiest.pid)
        write_busiest(j, p, &h->busiest);
    json_end_object(j);
}

static void write_mounts(struct json *j, const struct profile *p)
{
    if (!profile_mount_count(p))
        return;
    json_newline(j);
    json_array_field(j, "mounts");
    for (uint32_t i = 1; i <= profile_mount_count(p); i++) {
        const struct profile_mount *m = profile_see_mount(p, (mount_id){i});
        json_newline(j);
        json_object(j);
        text_or_null(j, p, "point", m->point);
        text_or_null(j, p, "type", m->type);
        text_or_null(j, p, "source", m->source);
        json_bool_field(j, "served", m->served);
        json_end_object(j);
    }
    json_end_array(j);
}

static void known_field(struct json *j, const struct profile *p, const char *key, string_id text)
{
    json_optional_field(j, key, profile_text_or_null(p, text));
}

static void write_starts(struct json *j, const struct profile_machine *m)
{
    if (m->starts_known)
        json_int_field(j, "starts", (int64_t)m->starts);
}

static void write_paging(struct json *j, const struct profile_machine *m)
{
    if (m->swap_known) {
        json_int_field(j, "swap_ins", (int64_t)m->swap_ins);
        json_int_field(j, "swap_outs", (int64_t)m->swap_outs);
    }
    if (m->numa_known) {
        json_int_field(j, "numa_marked", (int64_t)m->numa_marked);
        json_int_field(j, "numa_faults", (int64_t)m->numa_faults);
        json_int_field(j, "numa_faults_local", (int64_t)m->numa_faults_local);
        json_int_field(j, "numa_moved", (int64_t)m->numa_moved);
    }
}

static void write_shortage(struct json *j, const struct profile_machine *m)
{
    if (m->load_first >= 0 && m->load_last >= 0) {
        json_number_field(j, "load_first", m->load_first);
        json_number_field(j, "load_last", m->load_last);
    }
    if (m->cpu_pressure.known) {
        json_int_field(j, "cpu_pressure_some_ns", m->cpu_pressure.some_ns);
        json_int_field(j, "cpu_pressure_full_ns", m->cpu_pressure.full_ns);
    }
    if (m->memory_pressure.known) {
        json_int_field(j, "memory_pressure_some_ns", m->memory_pressure.some_ns);
        json_int_field(j, "memory_pressure_full_ns", m->memory_pressure.full_ns);
    }
}

static void write_machine(struct json *j, const struct profile *p, const struct profile_machine *m)
{
    if (!m->known)
        return;
    json_newline(j);
    json_key(j, "machine");
    json_object(j);
    known_field(j, p, "cpu_governor", m->governor);
    known_field(j, p, "huge_pages", m->huge_pages);
    known_field(j, p, "huge_pages_defrag", m->huge_pages_defrag);
    if (m->numa_nodes)
        json_int_field(j, "numa_nodes", m->numa_nodes);
    if (m->numa_balancing >= 0)
        json_int_field(j, "numa_balancing", m->numa_balancing);
    write_shortage(j, m);
    write_starts(j, m);
    write_paging(j, m);
    json_end_object(j);
}

void machine_block_write(struct json *j, const struct profile *p)
{
    write_host(j, p, profile_see_host(p));
    write_machine(j, p, &profile_see_host(p)->machine);
    write_mounts(j, p);
}
