"""Python with a pool of processes and shared memory."""
import multiprocessing
import os
from multiprocessing import shared_memory


def part(number):
    memory = shared_memory.SharedMemory(name=os.environ['MEMORY'])
    memory.buf[number] = number * 3
    memory.close()
    return sum(i * i % 7 for i in range(number * 10000))


if __name__ == '__main__':
    if os.environ.get('COUNTED'):
        with open(os.environ['COUNTED'], 'a') as mark:
            mark.write('once\n')
    memory = shared_memory.SharedMemory(create=True, size=4096)
    os.environ['MEMORY'] = memory.name
    with multiprocessing.Pool(3) as pool:
        print(pool.map(part, range(20)))
    print(sum(memory.buf[:20]))
    memory.close()
    memory.unlink()
