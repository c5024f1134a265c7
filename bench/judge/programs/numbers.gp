factor(2^211-1)
print(nfinit(x^8-3*x^5+7*x^2-11).disc)
print(sum(n=1,300000,moebius(n)))
print(#ellgenerators(ellinit([0,0,0,-1217,19],nextprime(10^30))))
