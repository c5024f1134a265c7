#include "json/figure.h"
#include "report/scale.h"

static json_t *levels_of(const struct fm_scale_count *count)
{
	json_t *levels = json_array();

	for (unsigned i = 0; i < count->level_count; i++) {
		const struct fm_scale_level *from = &count->levels[i];
		json_t *level = json_object();

		json_object_set_new(level, "name", json_string(from->name));
		fm_json_set_figure(level, "gbs", &from->gbs);
		fm_json_set_figure(level, "sustainable_gbs", &from->sustainable_gbs);
		fm_json_set_figure(level, "utilisation", &from->utilisation);
		json_array_append_new(levels, level);
	}
	return levels;
}

static json_t *counts_of(const struct fm_scale *scale)
{
	json_t *counts = json_array();

	for (unsigned i = 0; i < scale->count; i++) {
		const struct fm_scale_count *from = &scale->counts[i];
		json_t *count = json_object(), *time = json_object();

		json_object_set_new(count, "threads", json_integer(from->count));
		json_object_set_new(count, "workers", json_integer(from->threads));
		json_object_set_new(count, "runs", json_integer(from->runs));
		json_object_set_new(count, "disturbed", json_integer(from->disturbed));
		fm_json_set_figure(count, "elapsed", &from->elapsed);
		fm_json_set_figure(count, "cpu", &from->cpu);
		fm_json_set_figure(count, "speedup", &from->speedup);
		fm_json_set_figure(count, "efficiency", &from->efficiency);
		fm_json_set_figure(count, "waiting", &from->waiting);
		fm_json_set_figure(count, "imbalance", &from->imbalance);
		for (unsigned part = 0; part < FM_SCALE_PARTS; part++)
			json_object_set_new(time, fm_scale_part_name((enum fm_scale_part)part),
			                    json_real(from->share[part]));
		json_object_set_new(count, "time", time);
		json_object_set_new(count, "switches_per_second", json_real(from->switches));
		json_object_set_new(count, "levels", levels_of(from));
		json_array_append_new(counts, count);
	}
	return counts;
}

static json_t *verdict_of(const struct fm_scale *scale)
{
	const struct fm_scale_verdict *from = &scale->verdict;
	json_t *verdict = json_object(), *evidence = json_array();

	for (unsigned i = 0; i < from->evidence_count; i++)
		json_array_append_new(evidence, json_string(from->evidence[i]));
	json_object_set_new(verdict, "cause", json_string(fm_scale_cause_name(from->cause)));
	json_object_set_new(verdict, "confidence", json_real(from->confidence));
	json_object_set_new(verdict, "threads", json_integer(scale->counts[from->decisive].count));
	json_object_set_new(verdict, "level", *from->level ? json_string(from->level) : json_null());
	json_object_set_new(verdict, "line", *from->line ? json_string(from->line) : json_null());
	json_object_set_new(verdict, "advice", json_string(fm_scale_cause_advice(from->cause)));
	json_object_set_new(verdict, "evidence", evidence);
	return verdict;
}

json_t *fm_scale_json(const struct fm_scale *scale)
{
	const struct fm_recording *recording = scale->recording;
	const struct fm_recorded_scale *how = scale->how;
	json_t *root = fm_json_document("scale"), *fit = json_object();

	json_object_set_new(root, "machine",
	                    json_string(how->simulated ? recording->asked.machine : recording->run.host));
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "program", json_string(recording->run.program));
	json_object_set_new(root, "exit_status", json_integer(recording->run.exit_status));
	json_object_set_new(root, "simulated", json_boolean(how->simulated));
	json_object_set_new(root, "by", json_string(how->by));
	json_object_set_new(root, "set_by", json_string(how->set_by));
	json_object_set_new(root, "cpus", json_integer(how->cpus));
	json_object_set_new(root, "complete", json_boolean(!*how->stopped));
	json_object_set_new(root, "stopped", *how->stopped ? json_string(how->stopped) : json_null());
	json_object_set_new(root, "counts", counts_of(scale));
	fm_json_set_figure(fit, "serial_share", &scale->fit.serial_share);
	fm_json_set_figure(fit, "contention", &scale->fit.contention);
	fm_json_set_figure(fit, "coherence", &scale->fit.coherence);
	json_object_set_new(root, "fit", fit);
	json_object_set_new(root, "verdict", verdict_of(scale));
	return root;
}
