// The checks' functions, one file a family; only registry.cpp and they include this. Each returns
// if the plugin passes, and throws Failure or Skipped (verdict.h) if not.
#pragma once

#include "search/check/subject.h"

namespace inlay::check {

// check_static.cpp: the file alone, nothing is loaded
void single_export(Subject& subject);
void no_host_imports(Subject& subject);
void manifest_schema(Subject& subject);
void manifest_section_readable(Subject& subject);
void cpu_needs_declared(Subject& subject);
void dependency_shadowing(Subject& subject);
void relocations_resolve(Subject& subject);
void file_permissions(Subject& subject);
void sanitizer_match(Subject& subject);
void scan_time(Subject& subject);
void build_id_present(Subject& subject);
void memory_protection(Subject& subject);

// check_load.cpp
void query_pure(Subject& subject);
void query_refuses_major(Subject& subject);
void older_host(Subject& subject);
void newer_host(Subject& subject);
void oversized_structs(Subject& subject);
void init_twice(Subject& subject);
void wrong_order(Subject& subject);
void two_clients(Subject& subject);
void clean_exit(Subject& subject);
void process_state(Subject& subject);
void quiet(Subject& subject);

// check_errors.cpp
void outputs_untouched(Subject& subject);
void null_destroy(Subject& subject);
void error_text(Subject& subject);
void allocation_failure(Subject& subject);
void no_exceptions(Subject& subject);
void unknown_option(Subject& subject);

// check_capability.cpp
void pattern_samples_compile(Subject& subject);
void near_miss_declines(Subject& subject);
void veto_consistent(Subject& subject);
void decline_cheap(Subject& subject);
void unlisted_op(Subject& subject);

// check_numbers.cpp
void reference_match(Subject& subject);
void not_a_number(Subject& subject);
void zero_size(Subject& subject);
void odd_shapes(Subject& subject);
void declared_alias(Subject& subject);
void misaligned_input(Subject& subject);
void repeatable(Subject& subject);
void guard_pages(Subject& subject);
void inputs_unmodified(Subject& subject);

// check_artefacts.cpp
void save_load_run(Subject& subject);
void truncated_artifact(Subject& subject);
void stale_identity(Subject& subject);
void constant_sharing(Subject& subject);

// check_memory.cpp
void leaks(Subject& subject);
void alignment(Subject& subject);
void copy_routes(Subject& subject);
void use_after_parent(Subject& subject);

// check_async.cpp
void event_order(Subject& subject);
void error_signals_events(Subject& subject);
void cancel(Subject& subject);
void concurrent_instances(Subject& subject);
void races(Subject& subject);
void thread_cap(Subject& subject);
void no_spinning_idle(Subject& subject);

// check_reports.cpp
void clock_calibrated(Subject& subject);
void simulated_deterministic(Subject& subject);
void timing_only_equal(Subject& subject);
void energy_additive(Subject& subject);
void estimate_sane(Subject& subject);

}  // namespace inlay::check
