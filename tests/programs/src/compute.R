# R: vectors, a linear model, matrices.
counted <- Sys.getenv('COUNTED')
if (counted != '') cat('once\n', file = counted, append = TRUE)
x <- (1:200000 * 7919) %% 10007
m <- matrix(x[1:40000] %% 97, 200)
cat(sum(sort(x)[1:1000]), round(coef(stats::lm(x ~ seq_along(x)))[[1]], 6), sum(m %*% t(m)), '\n')
quit(status = 24)
