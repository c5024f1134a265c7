"""Python: dictionaries, JSON, hashes, regular expressions, threads, a child process."""
import hashlib
import json
import os
import re
import subprocess
import sys
import threading

if os.environ.get('COUNTED'):
    with open(os.environ['COUNTED'], 'a') as mark:
        mark.write('once\n')
size = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
table = {str(i): [i * k for k in range(5)] for i in range(size)}
text = json.dumps(table)
print(len(text), hashlib.sha256(text.encode()).hexdigest(), sum(v[3] for v in json.loads(text).values()))
print(len(re.findall(r'1\d+', text)))
sums = []
threads = [threading.Thread(target=lambda: sums.append(sum(range(size * 5)))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sums, subprocess.run(['echo', 'child'], capture_output=True, check=True).stdout)
print('computed', file=sys.stderr)
