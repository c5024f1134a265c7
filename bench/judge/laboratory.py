#!/usr/bin/env python3
"""The laboratory against the truth by shrinking: the share of the time that waits for lines is what the same
instructions take less on data of 16 KiB. laboratory.py FATHOM PROGRAM [--rounds N] [--sizes BYTES,...] [--only KIND,...]
PROGRAM: laboratory.c, compiled with -O2. Runs are interleaved; initialisation is subtracted."""
import argparse, json, os, resource, statistics, subprocess, sys, tempfile

KINDS = 'sums strides chase gather scale polynomials searches buckets branches copies'.split()


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def iterations_for(program, kind, size, seconds):
    n = 1000000
    while True:
        took = user_seconds([program, kind, str(size), str(n)]) - user_seconds([program, kind, str(size), '1'])
        if took > 0.1:
            return int(n * seconds / took)
        n *= 4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('fathom')
    parser.add_argument('program')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=1.5)
    parser.add_argument('--sizes', default='262144,4194304,134217728')
    parser.add_argument('--only', default=','.join(KINDS))
    options = parser.parse_args()
    errors, inside, known = [], 0, 0
    print(f'{"kind":12} {"KiB":>7} {"truth":>6} {"measured":>22} {"rounds":>6} {"cost":>5} {"simulated":>9}')
    for kind in options.only.split(','):
        for size in map(int, options.sizes.split(',')):
            n = iterations_for(options.program, kind, size, options.seconds)
            times = {16384: [], size: []}
            for _ in range(options.rounds):
                for bytes_ in times:
                    command = [options.program, kind, str(bytes_)]
                    times[bytes_].append(user_seconds(command + [str(n)]) - user_seconds(command + ['1']))
            small, large = (statistics.median(times[b]) for b in times)
            truth = max(0, 1 - small / large)
            with tempfile.NamedTemporaryFile(suffix='.json') as file:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([options.fathom, 'stat', '--json', '-o', file.name, '--', options.program, kind, str(size),
                                str(n)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                result = json.load(open(file.name))
            laboratory = result.get('laboratory') or result.get('total', {}).get('laboratory')
            waiting = laboratory and laboratory['waiting']
            cost = (after.ru_utime - before.ru_utime) / large
            if not waiting or waiting.get('value') is None:
                print(f'{kind:12} {size >> 10:7} {truth:6.2f} not known: {laboratory and (laboratory["problem"], waiting)}')
                continue
            known += 1
            errors.append(abs(waiting['value'] - truth))
            inside += waiting['low'] <= truth <= waiting['high']
            print(f'{kind:12} {size >> 10:7} {truth:6.2f} {waiting["value"]:8.2f} ({waiting["low"]:.2f} … {waiting["high"]:.2f})'
                  f' {laboratory["rounds"]:6} {cost:5.2f} covered {laboratory["covered"]:.2f} {laboratory["problem"] or ""}', flush=True)
    print(f'{known} known; error median {statistics.median(errors):.3f}, worst {max(errors):.3f}; {inside} of {known} intervals hold the truth')


main()
