<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/>
<xsl:key name="by-year" match="book" use="@year"/>
<xsl:template match="/library">
<xsl:for-each select="book[generate-id() = generate-id(key('by-year', @year)[1])]">
<xsl:sort select="@year"/>
<xsl:value-of select="@year"/>: <xsl:value-of select="sum(key('by-year', @year)/price)"/>
<xsl:for-each select="key('by-year', @year)"><xsl:sort select="title"/><xsl:if test="position() &lt; 5"> <xsl:value-of select="title"/>,</xsl:if></xsl:for-each>
</xsl:for-each>
</xsl:template>
</xsl:stylesheet>
