{ sum[$2] += $4; count[$3]++; if (length($6) > longest[$5 % 100]) longest[$5 % 100] = length($6) }
END { for (key in sum) total += sum[key]; for (key in count) kinds++; print total, kinds }
