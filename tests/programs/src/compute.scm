;;; Scheme: continuations, hash tables, big numbers.
(if (getenv "COUNTED")
    (let ((mark (open-file (getenv "COUNTED") "a")))
      (display "once\n" mark)
      (close-port mark)))
(define table (make-hash-table))
(do ((i 0 (+ i 1))) ((= i 300000))
  (hash-set! table (modulo i 3000) (+ i (hash-ref table (modulo i 3000) 0))))
(define escaped
  (let loop ((i 0) (sum 0))
    (if (= i 20000) sum
        (loop (+ i 1) (+ sum (call/cc (lambda (return) (if (even? i) (return 1) 2))))))))
(display (list (hash-ref table 77) escaped (modulo (expt 7 3000) 1000003)))
(newline)
(exit 18)
